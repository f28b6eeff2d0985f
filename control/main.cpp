// trama: finds the verb and lets it do the rest.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "control/terminal.hpp"
#include "control/vector_targets.hpp"
#include "control/verbs.hpp"
#include "engine/suggest.hpp"

namespace trama {
namespace {

struct Verb {
  const char* name;
  const char* takes;
  const char* summary;
  int (*run)(const Arguments&);
};

constexpr Verb kVerbs[] = {
    {"run", "[GRAPH.toml] [-r FILE] ...", "packets to an archive of anonymized traffic matrices", run_verb},
    {"check", "GRAPH.toml", "every error of a graph file", check_verb},
    {"graph", "GRAPH.toml", "draw a graph (Graphviz DOT); --builtin", graph_verb},
    {"stages", "[KIND]", "the stages there are, and their parameters", stages_verb},
    {"inspect", "PATH...", "network quantities of each window and of the sum", inspect_verb},
    {"export", "PATH...", "source,destination,packets as CSV; --mtx", export_verb},
    {"verify", "PATH...", "check archives against their manifests; --recover", verify_verb},
    {"key", "new|show|curve FILE", "make a key, or print a key's fingerprint", key_verb},
    {"bench", "VERB", "the papers' measurements, side by side with their method", bench_verb},
    {"filter", "check|run|disasm|new", "eBPF filter modules: check, try, read and begin them", filter_verb},
    {"status", "[--socket PATH]", "how a running engine is doing; --json", status_verb},
    {"top", "[--socket PATH]", "watch a running engine", top_verb},
    {"ctl", "REQUEST ...", "ask a running engine: exclude, reload, rotate-key, flush, stop", ctl_verb},
    {"subscribe", "URL", "print or save a matrix stream", subscribe_verb},
    {"relay", "URL --to URL", "take a matrix stream once, and serve it to many", relay_verb},
    {"doctor", "", "what this machine can do, and what is missing", doctor_verb},
};

std::string help() {
  std::string text =
      "usage: trama VERB ...\n\n"
      "Turns packets into anonymized hypersparse traffic matrices.\n\n";
  for (const Verb& verb : kVerbs) {
    char line[160];
    std::snprintf(line, sizeof line, "  %-10s%-28s%s\n", verb.name, verb.takes, verb.summary);
    text += line;
  }
  return text +
         "\nexamples:\n"
         "  trama run -r day.pcapng                     capture to trama-out/, under a key that is then forgotten\n"
         "  trama inspect trama-out                     what is in it\n"
         "  trama VERB --help                           the options of a verb\n";
}

int unknown(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  if (word[0] == '-') {
    print_error("unknown option " + word, "the verb comes first, as in `trama run " + word + "`");
  } else {
    print_error("unknown command `" + word + "`", suggestion(word, "there are", names));
  }
  return kMisused;
}

int run(const Arguments& arguments) {
  if (arguments.empty()) {
    std::fputs(help().c_str(), stderr);
    return kMisused;
  }
  if (const auto limited = limit_vector_targets_by_environment(); !limited) {
    print(limited.error());
    return kMisused;
  }
  const std::string& word = arguments[0];
  if (word == "--version" || word == "-V") {
    std::puts("trama " TRAMA_VERSION);
    return kDone;
  }
  Arguments rest(arguments.begin() + 1, arguments.end());
  const bool help_verb = word == "help" && !rest.empty();
  if (word == "--help" || word == "-h" || (word == "help" && !help_verb)) {
    std::fputs(help().c_str(), stdout);
    return kDone;
  }
  const std::string& name = help_verb ? rest[0] : word;
  for (const Verb& verb : kVerbs)
    if (name == verb.name) return verb.run(help_verb ? Arguments{"--help"} : rest);
  return unknown(name);
}

// What the verbs have printed with stdio: help, versions, short answers.
int close_output(int status) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  if (errno == EPIPE) return status;
  print_error(std::string("can't write the output: ") + std::strerror(errno));
  return status == kDone ? kFailed : status;
}

}  // namespace
}  // namespace trama

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of write(), which is where it is handled
  try {
    return trama::close_output(trama::run({argv + 1, argv + argc}));
  } catch (const std::bad_alloc&) {
    trama::print_error("out of memory");
  } catch (const std::exception& error) {
    trama::print_error(error.what());
  }
  return trama::kFailed;
}
