// Spec to checked graph: every semantic error at once, each with file:line, the line and a hint.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/graph_spec.hpp"
#include "engine/registry.hpp"

namespace trama {

// A graph that can run: a tree of stages, sources first, each stage after the one that feeds it.
struct CheckedGraph {
  struct Node {
    StageSpec spec;
    const StageKind* kind;
    const MessageType* output;  // what it hands on, also where the kind takes any type; null for a sink
    size_t feeder;              // index of the node that feeds it; its own index for a source
    std::vector<size_t> readers;
    size_t domain_in, domain_out;  // indices into `domains`; for a source domain_in == domain_out; sinks the same
  };
  struct DomainNeeds {
    size_t holds;        // largest sum of `holds` on a path through the domain
    size_t may_lose;     // slots of all readers that may lose in it
    bool ends_in_sinks;  // no stage opens another domain behind it
    bool windows;        // opened by a stage that isn't a source: its credits are window credits
  };
  std::vector<Node> nodes;
  std::vector<DomainNeeds> domains;
  GraphSpec spec;
};

// Refuses, in the order of lines: unknown kinds and parameters, types that don't meet, what isn't a tree with one
// source in front and sinks at all its ends, replicas of a serial stage, a stage that needs order behind one that
// breaks it, a stage that changes what others read, a stage that may lose and isn't a sink, too few credits. `registry`
// must outlive the graph and get no more kinds.
tl::expected<CheckedGraph, Diagnostics> check(const GraphSpec& spec, const Registry& registry);

// Graphviz text of a checked graph: stages with kind, replicas and parallelism, edges with their message type.
std::string to_dot(const CheckedGraph& graph);

// A diagnostic as the command prints it, each line with its end: "trama: error: FILE:LINE: text", and, indented by
// four, the offending line and "hint: ...". A line is shown only of the file that `source` is, for a diagnostic may be
// about another one, which nobody asked to see. Whatever file was taken for a graph, no key and no packet is shown: in
// its place, 32 or more hexadecimal digits in a row become "…", and a line that isn't text is left out. Control
// characters become spaces.
std::string show(const Diagnostic& diagnostic, const SourceLines& source);

}  // namespace trama
