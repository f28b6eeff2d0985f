// What an administrator can do to a filter that this process has attached.
#pragma once
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace trama::test {

// Detaches by force what this process holds by bpf_links, and leaves it the descriptors.
inline void take_filters_off() {
  int taken = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own descriptor
    const std::string what = std::filesystem::read_symlink(entry.path(), gone).string();
    if (what.find("bpf_link") == std::string::npos && what.find("bpf-link") == std::string::npos) continue;
    EXPECT_EQ(bpf_link_detach(std::stoi(entry.path().filename().string())), 0);
    ++taken;
  }
  EXPECT_GT(taken, 0);
}

}  // namespace trama::test
