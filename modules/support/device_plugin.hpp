// Device drivers that need a library which isn't on every machine: each is a plug-in, a shared object beside the
// command (or in TRAMA_PLUGIN_FOLDER, where it is installed), opened when a graph asks for such devices.
//
// So the command needs none of these libraries to start, and pays nothing for them: DPDK alone would pull in nine
// shared libraries and 2 ms of their constructors. Stages and their parameters are in the command itself, so that a
// graph can be checked anywhere; a plug-in holds only what stands behind packet_device.hpp.
#pragma once
#include <string>

#include "engine/diagnostic.hpp"
#include "modules/support/packet_device.hpp"

namespace trama {

// What a plug-in exports as `trama_device_plugin`. Both sides are compiled together: see kPluginVersion.
template <class Options>
struct DevicePlugin {
  const char* version;
  Expected<OpenedDevices> (*open)(const Options& options);
};
inline constexpr const char* kPluginVersion = TRAMA_VERSION " " __VERSION__;

#define TRAMA_EXPORT_DEVICE_PLUGIN(Options, open)                                                 \
  extern "C" {                                                                                    \
  [[gnu::visibility("default")]] extern const ::trama::DevicePlugin<Options> trama_device_plugin; \
  const ::trama::DevicePlugin<Options> trama_device_plugin{::trama::kPluginVersion, open};        \
  }                                                                                               \
  static_assert(true)

// Where a plug-in comes from, for what is said when it isn't there.
struct PluginSource {
  const char* file;             // "trama-dpdk.so"
  const char* library;          // "DPDK"
  const char* runtime_package;  // Debian's, with the library
  const char* build_package;    // Debian's, with its headers
};

// The exported object, which stays loaded for good. Errors: this Trama was built without it; its libraries are missing
// here; it belongs to another build.
Expected<const void*> load_device_plugin(const PluginSource& source);

template <class Options>
Expected<OpenedDevices> open_plugin_devices(const PluginSource& source, const Options& options) {
  const auto plugin = load_device_plugin(source);
  if (!plugin) return tl::unexpected(plugin.error());
  return static_cast<const DevicePlugin<Options>*>(*plugin)->open(options);
}

}  // namespace trama
