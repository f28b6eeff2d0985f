// What stages and the command share without knowing each other: one object for each type, made before the first packet.
#pragma once
#include <memory>
#include <typeindex>
#include <unordered_map>

namespace trama {

// Used by one thread, the one that sets the graph up. The objects themselves say which of their calls are thread-safe.
class Services {
 public:
  template <class T>
  void add(std::shared_ptr<T> service) {
    services_[typeid(T)] = std::move(service);
  }
  // Makes the service when it isn't there yet, so that a graph runs in a test without the command around it.
  template <class T>
  std::shared_ptr<T> get() {
    std::shared_ptr<void>& service = services_[typeid(T)];
    if (!service) service = std::make_shared<T>();
    return std::static_pointer_cast<T>(service);
  }

 private:
  std::unordered_map<std::type_index, std::shared_ptr<void>> services_;
};

}  // namespace trama
