// A graph as somebody wrote it: plain data with places, not yet checked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnostic.hpp"
#include "engine/edge.hpp"
#include "engine/message.hpp"
#include "engine/parameters.hpp"

namespace trama {

struct StageSpec {
  std::string name;
  std::string kind;  // the name, unless said
  size_t replicas = 1;
  std::optional<Route> route;   // how the edge into this stage spreads; `any` unless said
  std::vector<uint64_t> cores;  // processors that its replicas run on; empty: all
  ParameterTable parameters;
  Place place;
  Place kind_place, replicas_place, route_place, cores_place;  // of these keys; of the table when not given
};

struct LinkSpec {
  std::string from, to;
  Place place;
};

// A file's text by lines, without their ends.
struct SourceLines {
  std::string file;  // as diagnostics call it
  std::vector<std::string> lines;
};

struct GraphSpec {
  Place place;                                                     // the file
  Sizes sizes;                                                     // keys window_packets and batch_packets
  size_t workers = 0;                                              // 0: one for each processor
  size_t batch_credits = 0;                                        // 0: the standard, 32
  size_t window_credits = 0;                                       // 0: the standard, 2 * workers + 2
  bool pin = false;                                                // pin worker i to processor i
  Place workers_place, batch_credits_place, window_credits_place;  // of these keys; of the file when not given
  std::vector<LinkSpec> links;    // in the order written; "a -> b -> c, d" makes a-b, b-c, b-d
  std::vector<StageSpec> stages;  // in order of first appearance; also those without a table
  SourceLines lines;              // the text, for show()
  Diagnostics form_errors;        // values of a wrong kind or out of range; check() reports them with all others

  // Null when there is no such stage.
  StageSpec* find(std::string_view name);
  const StageSpec* find(std::string_view name) const;
};

// What show() wants when parse_graph() gave no spec to take it from. `name` is what diagnostics call the file.
SourceLines lines_of(std::string_view text, const std::string& name);

// Text to spec. `name` is what diagnostics call the file. Fails when links or stages could not be understood, with all
// that can be said about the form, or at a syntax error, which is one diagnostic with its line and what is wrong there.
// A value of a wrong kind or out of range leaves the standard in the spec and stands in form_errors, so that check()
// can say everything at once. Ranges: window_packets 1..2^26, batch_packets 1..1024,
// workers 1..1024, batch_credits and window_credits 1..65536, replicas 1..1024, cores 0..4095, 1000 stages at most.
tl::expected<GraphSpec, Diagnostics> parse_graph(std::string_view text, const std::string& name);
// Reads the file first. Diagnostics call it `path`; one about a file that can't be read has no line. Whoever wants to
// show lines of a file that was refused calls the two halves, read_graph_text() and parse_graph().
Expected<std::string> read_graph_text(const std::string& path);
tl::expected<GraphSpec, Diagnostics> load_graph(const std::string& path);

// `stages.NAME.KEY=VALUE` or `graph.KEY=VALUE` (all keys but links), VALUE in TOML; a bare word is taken as text.
// `place` says where from, as {"--set", 0}. A refused assignment changes nothing.
std::optional<Diagnostic> set_parameter(GraphSpec& spec, std::string_view assignment, const Place& place);

// SHA-256 is not the engine's: this is the text that the command hashes. Stages by name with kind and parameters that
// change the result, links in order, window_packets; not replicas, workers, credits, cores, route, batch_packets
// (windows are cut at the same packet whatever it is), files or keys. Two texts differ if a standard is written out in
// one. `leave_out`: names of stage parameters that don't change the result ("files", "key_file", ...).
std::string canonical_text(const GraphSpec& spec, const std::vector<std::string>& leave_out);

}  // namespace trama
