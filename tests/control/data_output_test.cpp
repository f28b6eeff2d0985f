#include "control/data_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace trama {
namespace {

TEST(DataOutput, WritesEverythingInOrder) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string got, right;
  std::thread reader([&] {
    char bytes[4096];
    for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;) got.append(bytes, static_cast<size_t>(n));
  });
  {
    DataOutput output(ends[1]);
    for (uint64_t i = 0; i < 100000; ++i) {
      output.number(i * 184467440737);
      output.write(',');
      right += std::to_string(i * 184467440737) + ",";
    }
    const std::string large(1 << 20, 'x');  // more than it holds
    output.write(large);
    right += large;
    EXPECT_TRUE(output.finish());
    EXPECT_TRUE(output.alive());
  }
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(got, right);
}

TEST(DataOutput, AReaderThatHasGoneIsNoError) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  DataOutput output(ends[1]);
  output.write("x");
  output.flush();
  EXPECT_FALSE(output.alive());
  output.write("more");
  EXPECT_TRUE(output.finish());
  close(ends[1]);
}

TEST(DataOutput, AFullDiskIs) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  DataOutput output(full);
  output.write("x");
  testing::internal::CaptureStderr();
  EXPECT_FALSE(output.finish());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("No space left"), std::string::npos);
  close(full);
}

}  // namespace
}  // namespace trama
