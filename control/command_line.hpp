// The options of one verb: says once what there is, reads them, and makes the help.
//
//   CommandLine line("check GRAPH.toml", "Says every error of a graph file.", "  trama check day.toml\n");
//   line.flag("-v", verbose, "say more");
//   line.words(paths, "GRAPH.toml", 1, 1);
//   if (const auto ended = line.ends(arguments)) return *ended;
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/diagnostic.hpp"

namespace trama {

// Exit statuses, as scripts know them.
inline constexpr int kDone = 0;     // all is well
inline constexpr int kFailed = 1;   // nothing could be read, or the output could not be written on
inline constexpr int kMisused = 2;  // nothing was done
inline constexpr int kLossy = 3;    // done, but something was lost

using Arguments = std::vector<std::string>;

class CommandLine {
 public:
  // `usage` without "trama"; its first word is the verb.
  CommandLine(std::string usage, std::string about, std::string examples);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // `names` as "-v,--verbose". Values must outlive parse().
  void flag(const std::string& names, bool& value, const std::string& help);
  void text(const std::string& names, std::optional<std::string>& value, const std::string& placeholder,
            const std::string& help);
  void texts(const std::string& names, std::vector<std::string>& value, const std::string& placeholder,
             const std::string& help);  // may be given again and again
  void integer(const std::string& names, std::optional<uint64_t>& value, uint64_t least, uint64_t most,
               const std::string& placeholder, const std::string& help);
  void seconds(const std::string& names, std::optional<double>& value, const std::string& help);  // above 0
  void choice(const std::string& names, std::optional<std::string>& value, std::vector<std::string> choices,
              const std::string& help);
  // An option that users of this command know and this version hasn't.
  void absent(const std::string& names, const std::string& instead);
  // What isn't an option; also everything behind `--`.
  void words(std::vector<std::string>& words, const std::string& name, size_t least, size_t most);
  // The same, where the two are not alike.
  void words(std::vector<std::string>& before, std::vector<std::string>& behind);

  // False: help was asked for. Errors are about one option and suggest the nearest name.
  Expected<bool> parse(const Arguments& arguments);
  std::string help() const;

  // parse(), with help or error printed: the exit status if there is nothing left to do.
  std::optional<int> ends(const Arguments& arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trama
