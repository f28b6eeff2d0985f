// Frames in words, with what the header walk must say of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/packet_builder.hpp"

namespace trama {

inline constexpr uint32_t kSource = 0x0a010203, kDestination = 0xc0000201;

struct WalkCase {
  std::string words;
  uint16_t link_type;
  PacketBuilder frame;
  Verdict verdict;      // with all of the frame captured; a counted one has the pair kSource, kDestination
  size_t judged_bytes;  // so many captured bytes are enough; with fewer the verdict is cut
};

// Collects cases of one link type. What stands behind the judged bytes is payload, which must not matter.
class WalkCaseList {
 public:
  explicit WalkCaseList(uint16_t link_type) : link_type_(link_type) {}
  // The headers lead to a sound IPv4 or IPv6 header, all of which is needed.
  WalkCaseList& ipv4(const std::string& words, PacketBuilder frame) {
    frame.ipv4(kSource, kDestination);
    return add(words, frame, Verdict::counted, frame.size());
  }
  WalkCaseList& ipv6(const std::string& words, PacketBuilder frame) {
    frame.ipv6();
    return add(words, frame, Verdict::ipv6, frame.size());
  }
  // The headers lead nowhere, which shows at their end unless `judged_bytes` says otherwise.
  WalkCaseList& not_ip(const std::string& words, const PacketBuilder& frame, size_t judged_bytes = SIZE_MAX) {
    return add(words, frame, Verdict::not_ip, judged_bytes == SIZE_MAX ? frame.size() : judged_bytes);
  }
  WalkCaseList& add(const std::string& words, PacketBuilder frame, Verdict verdict, size_t judged_bytes) {
    cases_.push_back({words, link_type_, frame.payload(23), verdict, judged_bytes});
    return *this;
  }
  void move_to(std::vector<WalkCase>& all) {
    for (WalkCase& one : cases_) all.push_back(std::move(one));
  }

 private:
  uint16_t link_type_;
  std::vector<WalkCase> cases_;
};

// Every link layer, tag and label, alone and stacked, and every way in which one can lead to something else than IPv4.
std::vector<WalkCase> walk_cases();
void add_host_cases(std::vector<WalkCase>& all);  // a part of them: header_walk_cases_host.cpp

}  // namespace trama
