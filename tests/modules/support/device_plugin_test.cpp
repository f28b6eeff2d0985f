#include "modules/support/device_plugin.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace trama {
namespace {

namespace fs = std::filesystem;

TEST(DevicePlugin, OneThatIsNotThereTellsHowToBuildIt) {
  const auto loaded = load_device_plugin({"trama-nothing.so", "Nothing", "libnothing1", "libnothing-dev"});
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().text, "this Trama was built without Nothing");
  EXPECT_NE(loaded.error().hint.find("sudo apt-get install libnothing-dev"), std::string::npos);
}

TEST(DevicePlugin, OneThatCantBeLoadedTellsWhatToInstall) {
  const std::string name = "trama-test-" + std::to_string(getpid()) + ".so";
  const fs::path path = fs::read_symlink("/proc/self/exe").parent_path() / name;
  std::ofstream(path) << "no shared object";
  const auto loaded = load_device_plugin({name.c_str(), "Nothing", "libnothing1", "libnothing-dev"});
  fs::remove(path);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().text.find("Nothing can't be loaded: "), std::string::npos) << loaded.error().text;
  EXPECT_EQ(loaded.error().hint, "sudo apt-get install libnothing1");
}

}  // namespace
}  // namespace trama
