#include "modules/support/device_plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace trama {
namespace {

namespace fs = std::filesystem;

// Beside the command, as in a build folder, before where it is installed with the command. Empty when it is in neither.
std::string find_plugin(const char* file) {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& folder : {command.parent_path(), command.parent_path().parent_path() / TRAMA_PLUGIN_FOLDER})
    if (const fs::path path = folder / file; folder.is_absolute() && fs::exists(path, error)) return path;
  return "";
}

// As cmake/TramaPackages.cmake calls it: trama-af-xdp has trama-af_xdp.so.
std::string package_of(const char* file) {
  std::string name = fs::path(file).stem();
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

Expected<const void*> load_device_plugin(const PluginSource& source) {
  const std::string library = source.library;
  const std::string path = find_plugin(source.file);
  if (path.empty())
    return failure("this Trama was built without " + library,
                   "sudo apt-get install " + std::string(source.build_package) +
                       ", then scripts/build.sh; Trama's packages have it in one of its own, " +
                       package_of(source.file));
  // Never unloaded: drivers keep threads, and the runtime destructors of its thread-local objects.
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!opened) {
    const char* const why = dlerror();
    return failure(library + " can't be loaded: " + (why ? why : "no reason given"),
                   "sudo apt-get install " + std::string(source.runtime_package));
  }
  const void* const plugin = dlsym(opened, "trama_device_plugin");
  // The version comes first in every DevicePlugin.
  if (!plugin || std::string(*static_cast<const char* const*>(plugin)) != kPluginVersion)
    return failure(path + " belongs to another build of Trama", "build both together with scripts/build.sh");
  return plugin;
}

}  // namespace trama
