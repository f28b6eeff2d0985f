// trama doctor: what this machine can do, and what is missing, with the command that mends it.
#include <GraphBLAS.h>
#include <archive.h>
#include <lz4.h>
#include <openssl/crypto.h>
#include <pcap/pcap.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "control/data_output.hpp"
#include "control/doctor_findings.hpp"
#include "control/terminal.hpp"
#include "control/verbs.hpp"

namespace trama {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

// 801 is 0.8.1.
std::string dotted_version(unsigned number) {
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

Finding libraries() {
  std::string versions = OpenSSL_version(OPENSSL_VERSION);
  versions = versions.substr(0, versions.find(' ', versions.find(' ') + 1));
  versions += ", GraphBLAS " + std::to_string(GxB_IMPLEMENTATION_MAJOR) + "." +
              std::to_string(GxB_IMPLEMENTATION_MINOR) + "." + std::to_string(GxB_IMPLEMENTATION_SUB);
  versions += std::string(", ") + archive_version_string() + ", LZ4 " + LZ4_versionString() + ", Zstandard " +
              ZSTD_versionString() + ", xxHash " + dotted_version(XXH_versionNumber()) + ", " + pcap_lib_version();
  return {State::ok, "libraries", versions, ""};
}

Finding python() {
  std::error_code error;
  for (const char* folder : {"/usr/lib/python3/dist-packages", "/usr/local/lib/python3/dist-packages"})
    if (fs::exists(fs::path(folder) / "suitesparse_graphblas", error))
      return {State::ok, "GraphBLAS for Python", "suitesparse_graphblas", ""};
  return {State::missing, "GraphBLAS for Python", "not installed (only for reading matrices from Python)",
          "sudo apt-get install python3-suitesparse-graphblas"};
}

Findings examine(const std::string& folder) {
  Findings all = machine_findings(folder);
  all.push_back(libraries());
  all.push_back(python());
  for (const auto& more : {capture_findings(), interface_findings(), device_findings()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

const char* name_of(State state) {
  switch (state) {
    case State::ok: return "ok";
    case State::note: return "note";
    case State::missing: return "missing";
    case State::broken: return "broken";
  }
  return "";
}

std::string findings_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    std::string state = name_of(finding.state);
    state.resize(8, ' ');
    text += state + printable(finding.what) + ": " + printable(finding.value) + "\n";
    if (finding.state != State::ok && !finding.mend.empty()) text += "        " + printable(finding.mend) + "\n";
  }
  return text;
}

std::string findings_json(const Findings& findings) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json one = {{"state", name_of(finding.state)}, {"what", finding.what}, {"value", finding.value}};
    if (finding.state != State::ok && !finding.mend.empty()) one["mend"] = finding.mend;
    all.push_back(std::move(one));
  }
  const nlohmann::ordered_json document = {{"trama", TRAMA_VERSION}, {"findings", std::move(all)}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

int doctor_verb(const Arguments& arguments) {
  std::optional<std::string> folder;
  bool json = false;
  CommandLine line("doctor [-w DIR] [--json]",
                   "Says what this machine can do and what is missing, with the command that mends it.\n"
                   "Exit status 1 only where Trama can't work at all: what is missing may be of no use to you.",
                   "  trama doctor -w /data/trama\n");
  line.text("-w,--write", folder, "DIR", "folder for archives (./trama-out)");
  line.flag("--json", json, "one JSON object");
  if (const auto ended = line.ends(arguments)) return *ended;
  const Findings findings = examine(folder.value_or("trama-out"));
  DataOutput output;
  output.write(json ? findings_json(findings) : findings_text(findings));
  if (!output.finish()) return kFailed;
  const bool broken = std::any_of(findings.begin(), findings.end(),
                                  [](const Finding& finding) { return finding.state == State::broken; });
  return broken ? kFailed : kDone;
}

}  // namespace trama
