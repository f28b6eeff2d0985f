// The kernel, the interpreter and machine code on the same packets: every shipped module gives the same verdicts, and
// leaves the same in its maps. Skipped where BPF is not allowed; the kernel takes packets from 14 bytes on.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>

#include "ebpf/filter_module.hpp"
#include "tests/ebpf/kernel_object.hpp"
#include "tests/support/long_tests.hpp"
#include "tests/support/packet_builder.hpp"

namespace trama::ebpf {
namespace {

constexpr uint32_t kLeastBytes = 14, kMostBytes = 2048;

using Random = std::mt19937;

int say_nothing(libbpf_print_level, const char*, va_list) { return 0; }

// The same object in the kernel.
class KernelModule {
 public:
  explicit KernelModule(const std::string& path) {
    libbpf_set_print(say_nothing);
    object_.reset(bpf_object__open_file(path.c_str(), nullptr));
    if (!object_) {
      error_ = errno;
      return;
    }
    error_ = -bpf_object__load(object_.get());
    program_ = bpf_object__next_program(object_.get(), nullptr);
  }

  int error() const { return error_; }

  // What the control plane has put into a map here.
  void copy(const Map& map) {
    const int fd = bpf_object__find_map_fd_by_name(object_.get(), map.spec().name.c_str());
    ASSERT_GE(fd, 0) << map.spec().name;
    map.for_each([fd](const MapEntry& entry) {
      ASSERT_EQ(bpf_map_update_elem(fd, entry.key.data(), entry.value.data(), BPF_ANY), 0) << std::strerror(errno);
    });
  }

  uint32_t run(const CapturedPacket& packet) {
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.data_in = packet.data();
    options.data_size_in = packet.captured();
    EXPECT_EQ(bpf_prog_test_run_opts(bpf_program__fd(program_), &options), 0) << std::strerror(errno);
    return options.retval;
  }

  // Values of 64 bits, summed over processors.
  std::map<uint32_t, std::vector<uint64_t>> counters(const Map& map) {
    const int fd = bpf_object__find_map_fd_by_name(object_.get(), map.spec().name.c_str());
    const size_t words = map.spec().value_size / 8, processors = static_cast<size_t>(libbpf_num_possible_cpus());
    std::vector<uint64_t> all(words * processors);
    std::map<uint32_t, std::vector<uint64_t>> sums;
    for (uint32_t key = 0; key < map.spec().max_entries; ++key) {
      EXPECT_EQ(bpf_map_lookup_elem(fd, &key, all.data()), 0) << std::strerror(errno);
      std::vector<uint64_t>& sum = sums[key] = std::vector<uint64_t>(words);
      for (size_t at = 0; at < all.size(); ++at) sum[at % words] += all[at];
    }
    return sums;
  }

 private:
  struct Close {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };
  std::unique_ptr<bpf_object, Close> object_;
  bpf_program* program_ = nullptr;
  int error_ = 0;
};

std::map<uint32_t, std::vector<uint64_t>> counters(const Map& map) {
  std::map<uint32_t, std::vector<uint64_t>> values;
  map.for_each([&values](const MapEntry& entry) {
    uint32_t key = 0;
    std::memcpy(&key, entry.key.data(), sizeof key);
    std::vector<uint64_t>& value = values[key] = std::vector<uint64_t>(entry.value.size() / 8);
    std::memcpy(value.data(), entry.value.data(), entry.value.size());
  });
  return values;
}

uint32_t below(Random& random, uint32_t end) { return static_cast<uint32_t>(random() % end); }

// Near the edges of the prefixes that modules() sets.
uint32_t address(Random& random) {
  constexpr std::array<uint32_t, 12> kAddresses = {0x0A000000, 0x0A010203, 0x0AFFFFFF, 0x09FFFFFF,
                                                   0x0B000000, 0x0302010A, 0xC0000201, 0xC0000200,
                                                   0xC0000202, 0x0A010000, 0,          0xFFFFFFFF};
  return random() % 4 == 0 ? static_cast<uint32_t>(random()) : kAddresses[below(random, kAddresses.size())];
}

PacketBytes ip_packet(PacketBuilder builder, bool v6, Random& random) {
  constexpr std::array<uint8_t, 10> kProtocols = {1, 6, 6, 17, 17, 33, 47, 58, 132, 136};
  constexpr std::array<uint16_t, 6> kPorts = {22, 53, 80, 443, 0, 65535};
  const size_t at = builder.size();
  if (v6)
    builder.ipv6(random() % 16 == 0 ? static_cast<uint8_t>(random()) : 0x60);
  else
    builder.ipv4(address(random), address(random), random() % 8 == 0 ? static_cast<uint8_t>(random()) : 0x45);
  builder.filled(random() % 8 == 0 ? 4 * below(random, 11) : 0);  // options, or what is taken for them
  builder.number16(kPorts[below(random, kPorts.size())]).number16(kPorts[below(random, kPorts.size())]);
  builder.payload(below(random, 40));
  PacketBytes bytes = builder.bytes();
  const uint8_t protocol = kProtocols[below(random, kProtocols.size())];
  if (v6) {
    bytes[at + 6] = protocol;
    for (const size_t byte : {size_t{8 + 3}, size_t{8 + 15}, size_t{24 + 3}, size_t{24 + 15}})
      bytes[at + byte] = static_cast<uint8_t>(bytes[at + byte] + below(random, 2));
  } else {
    bytes[at + 9] = protocol;
    if (random() % 8 == 0) bytes[at + 7] = static_cast<uint8_t>(random());  // a later fragment
  }
  return bytes;
}

PacketBytes packet(Random& random) {
  constexpr std::array<uint16_t, 4> kTags = {kVlanType, kServiceVlanType, kOldVlanType, kOtherVlanType};
  constexpr std::array<uint16_t, 6> kOthers = {kArpType, kMplsType, kPppoeType, kPbbType, 46, 0xFFFF};
  if (random() % 16 == 0) {
    PacketBytes bytes(kLeastBytes + below(random, 200));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  }
  const bool v6 = random() % 4 == 0;
  uint16_t type = v6 ? kIpv6Type : kIpv4Type;
  if (random() % 12 == 0) type = kOthers[below(random, kOthers.size())];
  const uint32_t tags = random() % 3 == 0 ? below(random, 11) : 0;
  PacketBuilder builder;
  builder.ethernet(tags > 0 ? kTags[below(random, kTags.size())] : type);
  for (uint32_t tag = 1; tag <= tags; ++tag)
    builder.vlan(static_cast<uint16_t>(random()), tag == tags ? type : kTags[below(random, kTags.size())]);
  return ip_packet(builder, v6, random);
}

struct ModuleCase {
  const char* name;
  ModuleOptions options;
};

std::vector<ModuleCase> modules() {
  const std::vector<std::string> prefixes = {"10.0.0.0/8", "10.1.0.0/16", "192.0.2.1/32", "192.0.2.0/31"};
  ModuleCase counts{"prefix_count",
                    {.entries = {"prefixes_v6: 2001:db8::/32 = 9", "prefixes_v6: 2001:db9::/33 = 4095",
                                 "prefixes_v4: 255.0.0.0/8 = 4096"}}};
  for (const std::string& prefix : prefixes)
    counts.options.entries.push_back("prefixes_v4: " + prefix + " = " + std::to_string(counts.options.entries.size()));
  return {{"privacy_ranges",
           {.ranges = {"10.0.0.0/8:both", "10.1.0.0/16:source", "192.0.2.1/32:destination", "192.0.2.0/31:either",
                       "2001:db8::/127:source", "2001:db9::/32:either"}}},
          {"privacy_ranges", {.ranges = {"0.0.0.0/0:source", "::/0:destination"}}},
          {"ports", {.entries = {"ports: tcp/443 = 1", "ports: tcp/22 = 0", "ports: udp = 1", "ports: sctp/80 = 1"}}},
          {"ports", {.entries = {"ports: tcp/22 = 0", "ports: any = 1"}}},
          {"sample", {.entries = {"one_in: 0 = 3"}}},
          {"sample", {}},
          std::move(counts),
          {"template", {.entries = {"wanted: 6 = 1", "wanted: 58 = 1"}}}};
}

class KernelDifferential : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    const ModuleCase one = modules()[GetParam()];
    const std::string path = std::string(TRAMA_FILTERS) + "/" + one.name + ".bpf.o";
    if (const int error = error_of_smallest_program(); error != 0)
      GTEST_SKIP() << "BPF is not allowed here: " << std::strerror(error);
    kernel_ = std::make_unique<KernelModule>(path);
    ASSERT_EQ(kernel_->error(), 0) << "the kernel doesn't take " << path;
    for (const Engine engine : {Engine::interpreter, Engine::jit}) {
      ModuleOptions options = one.options;
      options.engine = engine;
      auto module = FilterModule::load(path, options);
      ASSERT_TRUE(module) << describe(module.error());
      judges_.push_back({*module, std::make_unique<FilterReplica>(**module, 0, kMostBytes)});
    }
    const Maps& maps = judges_[0].module->maps();
    for (uint32_t map = 0; map < maps.size(); ++map)
      if (const Map& here = maps[map]; here.spec().section == Section::none && !per_cpu(here)) kernel_->copy(here);
  }

  static bool per_cpu(const Map& map) { return map.spec().type == BPF_MAP_TYPE_PERCPU_ARRAY; }

  void expect_same_verdict(const CapturedPacket& packet) {
    const uint32_t verdict = kernel_->run(packet);
    for (const Judge& one : judges_) {
      SCOPED_TRACE(one.module->jit() ? "machine code" : "interpreter");
      one.replica->begin_batch();
      one.replica->judge({packet.data(), packet.captured()}, 0);
      one.replica->end_batch();
      ASSERT_EQ(one.replica->fault(), Fault::none) << one.replica->describe_fault();
      ASSERT_EQ(one.replica->verdict(), verdict) << packet.captured() << " bytes";
    }
  }

  void expect_same_counters() {
    for (const Judge& one : judges_) {
      SCOPED_TRACE(one.module->jit() ? "machine code" : "interpreter");
      const Maps& maps = one.module->maps();
      for (uint32_t map = 0; map < maps.size(); ++map)
        if (per_cpu(maps[map])) {
          EXPECT_EQ(counters(maps[map]), kernel_->counters(maps[map])) << maps[map].spec().name;
        }
    }
  }

  struct Judge {
    std::shared_ptr<FilterModule> module;
    std::unique_ptr<FilterReplica> replica;
  };
  std::unique_ptr<KernelModule> kernel_;
  std::vector<Judge> judges_;
};

TEST_P(KernelDifferential, RandomAndStructuredPackets) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const uint64_t packets = runs(1000, 1'000'000 / modules().size() + 1);
  for (uint64_t i = 0; i < packets && !HasFatalFailure(); ++i) {
    SCOPED_TRACE("packet " + std::to_string(i));
    const PacketBytes bytes = packet(random);
    const size_t least = kLeastBytes;
    const size_t captured = random() % 3 == 0 ? least + random() % (bytes.size() - least + 1) : bytes.size();
    expect_same_verdict(CapturedPacket(bytes, captured));
  }
  expect_same_counters();
}

TEST_P(KernelDifferential, CutAtEveryLength) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (uint64_t i = 0; i < runs(8, 200); ++i) {
    const PacketBytes bytes = packet(random);
    for (size_t captured = kLeastBytes; captured <= bytes.size() && !HasFatalFailure(); ++captured)
      expect_same_verdict(CapturedPacket(bytes, captured));
  }
  expect_same_counters();
}

std::string case_name(const testing::TestParamInfo<size_t>& parameter) {
  return modules()[parameter.param].name + std::to_string(parameter.param);
}
INSTANTIATE_TEST_SUITE_P(ShippedModules, KernelDifferential, testing::Range(size_t{0}, modules().size()), case_name);

}  // namespace
}  // namespace trama::ebpf
