// Reading is CLI11's; what is asked of values, the wording and the help are ours, so that all verbs speak alike.
#include "control/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <functional>
#include <utility>

#include "control/terminal.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

constexpr size_t kHelpColumn = 30;
constexpr size_t kAnyNumber = SIZE_MAX;

// "-q,--quiet" -> {"-q", "--quiet"}
std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= names.size();) {
    const size_t comma = std::min(names.find(',', at), names.size());
    all.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return all;
}

std::optional<Diagnostic> wrong(std::string text, std::string hint = "") {
  return Diagnostic{Severity::error, {}, std::move(text), std::move(hint)};
}

template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

struct CommandLine::State {
  using Take = std::function<std::optional<Diagnostic>(const std::string& name, const std::string& value)>;
  struct Entry {
    std::vector<std::string> names;
    std::string placeholder, help;  // an empty help: not shown
    std::vector<std::string> values;
    bool many = false;
    Take take;
    CLI::Option* option = nullptr;
    const std::string& name() const { return names.back(); }
  };

  std::string usage, about, examples, words_name = "words";
  size_t least_words = 0, most_words = 0;
  std::vector<std::string>* words = nullptr;
  std::vector<std::string>* behind = nullptr;  // what stands behind `--`, where that isn't the same
  std::vector<std::string> given_words;
  bool help_wanted = false;
  CLI::App app;
  std::deque<Entry> entries;  // CLI11 keeps pointers to the values

  // The words of the usage line up to the first placeholder, or the first alone where it names several forms.
  std::string verb() const {
    if (usage.find(" | ") != std::string::npos) return usage.substr(0, usage.find(' '));
    const auto no_word = [](char letter) { return letter != ' ' && (letter < 'a' || letter > 'z'); };
    const auto end = std::find_if(usage.begin(), usage.end(), no_word);
    return usage.substr(0, usage.find_last_not_of(' ', static_cast<size_t>(end - usage.begin()) - 1) + 1);
  }

  Entry& add(const std::string& names, const std::string& placeholder, const std::string& help, Take take) {
    Entry& entry = entries.emplace_back();
    entry.names = split_names(names);
    entry.placeholder = placeholder;
    entry.help = help;
    entry.take = std::move(take);
    entry.option = app.add_option(names, entry.values)->allow_extra_args(false);
    return entry;
  }
  std::vector<std::string> all_names() const {
    std::vector<std::string> all{"--help"};
    for (const Entry& entry : entries)
      for (const std::string& name : entry.names) all.push_back(name);
    return all;
  }
  std::string help_hint() const { return "`trama " + verb() + " --help` lists the options"; }
  tl::unexpected<Diagnostic> refused(const CLI::ParseError& error) const;
  std::optional<Diagnostic> unknown_option() const;
  std::optional<Diagnostic> take_all();
  std::optional<Diagnostic> take_words(std::vector<std::string> after);
};

CommandLine::CommandLine(std::string usage, std::string about, std::string examples)
    : state_(std::make_unique<State>()) {
  state_->usage = std::move(usage);
  state_->about = std::move(about);
  state_->examples = std::move(examples);
  state_->app.set_help_flag();
  state_->app.add_flag("-h,--help", state_->help_wanted);
  state_->app.allow_extras();
  state_->app.add_option("words", state_->given_words);
}

CommandLine::~CommandLine() = default;

void CommandLine::flag(const std::string& names, bool& value, const std::string& help) {
  State::Entry& entry = state_->entries.emplace_back();
  entry.names = split_names(names);
  entry.help = help;
  entry.many = true;
  entry.option = state_->app.add_flag(names, value);
}

void CommandLine::text(const std::string& names, std::optional<std::string>& value, const std::string& placeholder,
                       const std::string& help) {
  state_->add(names, placeholder, help, [&value](const std::string&, const std::string& given) {
    value = given;
    return std::optional<Diagnostic>();
  });
}

void CommandLine::texts(const std::string& names, std::vector<std::string>& value, const std::string& placeholder,
                        const std::string& help) {
  auto& entry = state_->add(names, placeholder, help, [&value](const std::string&, const std::string& given) {
    value.push_back(given);
    return std::optional<Diagnostic>();
  });
  entry.many = true;
}

void CommandLine::integer(const std::string& names, std::optional<uint64_t>& value, uint64_t least, uint64_t most,
                          const std::string& placeholder, const std::string& help) {
  state_->add(names, placeholder, help, [&value, least, most](const std::string& name, const std::string& given) {
    value = number<uint64_t>(given);
    if (value && *value >= least && *value <= most) return std::optional<Diagnostic>();
    return wrong(name + " is a whole number of " + std::to_string(least) + " to " + std::to_string(most) + ", not `" +
                 given + "`");
  });
}

void CommandLine::seconds(const std::string& names, std::optional<double>& value, const std::string& help) {
  state_->add(names, "S", help, [&value](const std::string& name, const std::string& given) {
    value = number<double>(given);
    if (value && *value > 0 && *value <= 1e9) return std::optional<Diagnostic>();
    return wrong(name + " is a number of seconds above 0, not `" + given + "`", "as in " + name + " 60");
  });
}

void CommandLine::choice(const std::string& names, std::optional<std::string>& value, std::vector<std::string> choices,
                         const std::string& help) {
  const std::string placeholder = joined(choices, "|");
  state_->add(names, placeholder, help,
              [&value, choices = std::move(choices)](const std::string& name, const std::string& given) {
                value = given;
                if (std::find(choices.begin(), choices.end(), given) != choices.end())
                  return std::optional<Diagnostic>();
                return wrong(name + " can't be `" + given + "`", suggestion(given, "it may be", choices));
              });
}

void CommandLine::absent(const std::string& names, const std::string& instead) {
  const std::string name = split_names(names).front();
  auto& entry = state_->add(names, "", "", [name, instead](const std::string&, const std::string&) {
    return wrong(name + " is not in this version", instead);
  });
  entry.option->expected(0, 1);
  entry.many = true;
}

void CommandLine::words(std::vector<std::string>& words, const std::string& name, size_t least, size_t most) {
  state_->words = &words;
  state_->words_name = name;
  state_->least_words = least;
  state_->most_words = most;
}

void CommandLine::words(std::vector<std::string>& before, std::vector<std::string>& behind) {
  words(before, "words", 0, kAnyNumber);
  state_->behind = &behind;
}

Expected<bool> CommandLine::parse(const Arguments& arguments) {
  State& state = *state_;
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  std::vector<std::string> given(arguments.begin(), dashes);
  std::vector<std::string> after(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  std::reverse(given.begin(), given.end());
  try {
    state.app.parse(given);
  } catch (const CLI::ParseError& error) {
    return state.refused(error);
  }
  if (state.help_wanted) return false;
  if (auto unknown = state.unknown_option()) return tl::unexpected(std::move(*unknown));
  if (auto refused = state.take_all()) return tl::unexpected(std::move(*refused));
  if (auto refused = state.take_words(std::move(after))) return tl::unexpected(std::move(*refused));
  return true;
}

// CLI11 begins its messages with the option's name and a colon.
tl::unexpected<Diagnostic> CommandLine::State::refused(const CLI::ParseError& error) const {
  const std::string said = error.what();
  const std::string name = said.substr(0, said.find(':'));
  const std::vector<std::string> known = all_names();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) && std::find(known.begin(), known.end(), name) != known.end())
    return failure(name + " needs a value", help_hint());
  return failure(said, help_hint());
}

std::optional<Diagnostic> CommandLine::State::unknown_option() const {
  for (const std::string& word : app.remaining()) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    const auto near = nearest(name, all_names());
    const bool short_name = name.size() == 2;  // any short option is near any other
    return wrong("unknown option " + name,
                 near && !short_name ? "did you mean " + *near + "? " + help_hint() : help_hint());
  }
  return std::nullopt;
}

std::optional<Diagnostic> CommandLine::State::take_all() {
  for (Entry& entry : entries) {
    if (!entry.take || entry.option->count() == 0) continue;
    if (!entry.many && entry.values.size() > 1) return wrong(entry.name() + " was given twice", "keep one of them");
    for (const std::string& value : entry.values)
      if (auto refused = entry.take(entry.name(), value)) return refused;
    // An option that needs no value has been given without one.
    if (entry.values.empty())
      if (auto refused = entry.take(entry.name(), "")) return refused;
  }
  return std::nullopt;
}

std::optional<Diagnostic> CommandLine::State::take_words(std::vector<std::string> after) {
  std::vector<std::string>& all = given_words;
  const auto rest = app.remaining();
  all.insert(all.end(), rest.begin(), rest.end());
  if (!behind) {
    all.insert(all.end(), after.begin(), after.end());
  } else {
    *behind = std::move(after);
  }
  if (all.size() < least_words) return wrong(words_name + " is missing", "usage: trama " + usage);
  if (all.size() > most_words)
    return wrong("one argument too many: `" + all[most_words] + "`", "usage: trama " + usage);
  if (words) *words = all;
  return std::nullopt;
}

std::string CommandLine::help() const {
  std::string text = "usage: trama " + state_->usage + "\n\n" + state_->about + "\n";
  std::string options;
  for (const auto& entry : state_->entries) {
    if (entry.help.empty()) continue;
    std::string left = "  " + joined(entry.names);
    if (!entry.placeholder.empty()) left += " " + entry.placeholder;
    if (left.size() + 2 > kHelpColumn) {
      options += left + "\n" + std::string(kHelpColumn, ' ');
    } else {
      options += left + std::string(kHelpColumn - left.size(), ' ');
    }
    options += entry.help + "\n";
  }
  if (!options.empty()) text += "\noptions:\n" + options;
  if (!state_->examples.empty()) text += "\nexamples:\n" + state_->examples;
  return text;
}

std::optional<int> CommandLine::ends(const Arguments& arguments) {
  const auto go_on = parse(arguments);
  if (!go_on) {
    print(go_on.error());
    return kMisused;
  }
  if (*go_on) return std::nullopt;
  std::fputs(help().c_str(), stdout);
  return kDone;
}

}  // namespace trama
