// The catalogue of stages. A stage file registers itself with its last line.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/parameters.hpp"
#include "engine/services.hpp"
#include "engine/stage.hpp"

namespace trama {

// A message type as the checker and the planner know it.
struct MessageType {
  std::string_view name;
  std::unique_ptr<PoolBase> (*make_pool)(size_t size, const Sizes& sizes);
};
// One object a type, so that types are compared by address. Null for Message itself ("any type"), and for no message.
template <class T>
const MessageType* message_type() {
  if constexpr (std::is_void_v<T> || std::is_same_v<T, Message> || std::is_same_v<T, Nothing>) {
    return nullptr;
  } else {
    static const MessageType type{T::kName, [](size_t size, const Sizes& sizes) -> std::unique_ptr<PoolBase> {
                                    return std::make_unique<Pool<T>>(size, sizes);
                                  }};
    return &type;
  }
}

// What a stage is made with, once for all its replicas, before workers start. Here files are opened, keys read and
// tables filled; errors are Diagnostics.
struct SetupContext {
  std::string name;  // of the stage in the graph
  Place place;       // of its table
  Sizes sizes;
  size_t replicas = 1;
  Services& services;
};

struct StageKind {
  StageInfo info;
  bool source = false;                  // takes no messages
  bool sink = false;                    // makes none
  bool any_type = false;                // takes any type and passes the same messages on
  const MessageType* input = nullptr;   // null for a source and for any type
  const MessageType* output = nullptr;  // null for a sink and for any type
  std::vector<ParameterHelp> parameters;
  Diagnostics (*check)(const ParameterTable& table);  // the parameters alone; opens nothing
  tl::expected<StageFactory, Diagnostics> (*make)(const ParameterTable& table, const SetupContext& context);

  // The stage hands on other buffers than those it takes.
  bool makes_buffers() const { return !sink && !any_type && (input != output || info.numbering == Numbering::opens); }
};

class Registry {
 public:
  // The stages linked into this program.
  static Registry& instance();

  void add(StageKind kind);  // a kind registered twice, or an impossible declaration, ends the program: our mistake
  const StageKind* find(std::string_view kind) const;
  const std::vector<StageKind>& kinds() const { return kinds_; }  // by name

 private:
  std::vector<StageKind> kinds_;
};

// A stage class has `struct Parameters` with bind(), `static constexpr StageInfo kInfo`, and either a constructor
// (const Parameters&, const ReplicaContext&), or, where replicas share something or setup can fail,
// `static Expected<StageFactory> make(const Parameters&, const SetupContext&)` (or with Diagnostics as its error).
template <class S>
StageKind describe() {
  using In = typename S::Input;
  using Out = typename S::OutputType;
  StageKind kind;
  kind.info = S::kInfo;
  kind.source = std::is_void_v<In>;
  kind.sink = std::is_same_v<Out, Nothing>;
  kind.any_type = std::is_same_v<In, Message>;
  kind.input = message_type<In>();
  kind.output = message_type<Out>();
  ParameterBinder lists;
  typename S::Parameters standard;
  standard.bind(lists);
  kind.parameters = lists.help();
  kind.check = [](const ParameterTable& table) {
    ParameterBinder reads(table);
    typename S::Parameters parameters;
    parameters.bind(reads);
    return reads.finish();
  };
  kind.make = [](const ParameterTable& table, const SetupContext& context) -> tl::expected<StageFactory, Diagnostics> {
    ParameterBinder reads(table);
    typename S::Parameters parameters;
    parameters.bind(reads);
    if (Diagnostics wrong = reads.finish(); !wrong.empty()) return tl::unexpected(std::move(wrong));
    if constexpr (requires { S::make(parameters, context); }) {
      return S::make(parameters, context).map_error([](auto error) {
        if constexpr (std::is_same_v<decltype(error), Diagnostics>)
          return error;
        else
          return Diagnostics{std::move(error)};
      });
    } else {
      return StageFactory([parameters](const ReplicaContext& replica) -> std::unique_ptr<StageBase> {
        return std::make_unique<S>(parameters, replica);
      });
    }
  };
  return kind;
}

// For stages without parameters.
struct NoParameters {
  void bind(ParameterBinder&) {}
};

#define REGISTER_STAGE(Name)                                      \
  [[maybe_unused]] const bool registered_##Name = [] {            \
    ::trama::Registry::instance().add(::trama::describe<Name>()); \
    return true;                                                  \
  }()

}  // namespace trama
