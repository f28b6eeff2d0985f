// Objects as clang makes them: what the loader reads, and what it refuses. Damaged ones never do more than be refused.
#include "ebpf/loader.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "ebpf/disassemble.hpp"
#include "ebpf/object_codec.hpp"
#include "tests/ebpf/sandbox.hpp"
#include "tests/support/long_tests.hpp"

namespace trama::ebpf {
namespace {

std::string path_of(const std::string& name) { return std::string(TRAMA_TEST_FILTERS) + "/" + name + ".bpf.o"; }

std::vector<uint8_t> bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

const MapSpec& map_of(const Object& object, const std::string& name) {
  const int index = object.find_map(name);
  EXPECT_GE(index, 0) << name;
  return object.maps[static_cast<size_t>(std::max(index, 0))];
}

// Compiled for each instruction set.
class LoaderTest : public testing::TestWithParam<const char*> {};

TEST_P(LoaderTest, ReadsMapsSectionsAndPrograms) {
  const auto object = load_object(path_of(GetParam()));
  ASSERT_TRUE(object) << describe(object.error());
  ASSERT_EQ(object->programs.size(), 2u);
  ASSERT_TRUE(object->find_program("first"));
  ASSERT_TRUE(object->find_program("last"));
  EXPECT_EQ(object->other_programs, std::vector<std::string>{"not_for_xdp (tc)"});

  const MapSpec& ranges = map_of(*object, "ranges");
  EXPECT_EQ(ranges.type, uint32_t{BPF_MAP_TYPE_LPM_TRIE});
  EXPECT_EQ(ranges.key_size, 8u);
  EXPECT_EQ(ranges.value_size, 4u);
  EXPECT_EQ(ranges.max_entries, 16u);
  EXPECT_EQ(ranges.section, Section::none);

  const MapSpec& constants = map_of(*object, ".rodata");
  EXPECT_EQ(constants.section, Section::rodata);
  EXPECT_EQ(constants.initial_value, bytes_of(100u));
  EXPECT_EQ(map_of(*object, ".data").initial_value, bytes_of(uint32_t{XDP_DROP}));
  EXPECT_EQ(map_of(*object, ".bss").initial_value, bytes_of(uint64_t{0}));
  const std::vector<int32_t>& slots = map_of(*object, "chain").program_slots;
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0], -1);
  EXPECT_EQ(slots[1], -1);
  EXPECT_EQ(object->programs[static_cast<size_t>(slots[2])].name, "last");
}

TEST_P(LoaderTest, KeepsSourceLinesOfFunctionsToo) {
  const auto object = load_object(path_of(GetParam()));
  ASSERT_TRUE(object) << describe(object.error());
  const Program& first = *object->find_program("first");
  ASSERT_FALSE(first.lines.empty());
  const auto has = [&first](const std::string& text) {
    return std::any_of(first.lines.begin(), first.lines.end(),
                       [&text](const SourceLine& line) { return line.text.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("__sync_fetch_and_add(&seen, 1);"));
  EXPECT_TRUE(has("counter->packets++;")) << "a function that was appended";
  EXPECT_TRUE(has("length_of(context) < limit")) << "a global function";
  EXPECT_NE(first.lines[0].file.find("features.bpf.c"), std::string::npos);
}

TEST_P(LoaderTest, WhatItReadsRuns) {
  auto object = load_object(path_of(GetParam()));
  ASSERT_TRUE(object) << describe(object.error());
  const auto analysis = analyze(*object);
  ASSERT_TRUE(analysis) << describe(analysis.error());
  EXPECT_EQ(analysis->properties.why_serial(), "") << "it only counts";
  const auto first = static_cast<uint32_t>(object->find_program("first") - object->programs.data());
  Sandbox sandbox(std::move(*object));
  EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(99)), first), uint64_t{XDP_DROP});
  EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(100)), first), uint64_t{XDP_PASS});
  EXPECT_EQ(sandbox.fault(), Fault::none);
  EXPECT_EQ(sandbox.maps->find(".bss")->read(bytes_of(0u)), bytes_of(uint64_t{2}));
  EXPECT_EQ(sandbox.maps->find("counters")->read(bytes_of(1u)), bytes_of(std::array<uint64_t, 2>{2, 199}));
  EXPECT_EQ(sandbox.maps->find("counters")->read(bytes_of(2u)), bytes_of(std::array<uint64_t, 2>{1, 100}));
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, LoaderTest, testing::Values("features_v1", "features", "features_v3"));

TEST(Loader, RefusesWithTheReason) {
  const struct {
    const char* name;
    const char* reason;
  } rows[] = {
      {"core_relocation", "CO-RE relocations"},
      {"unsupported_map", "map traces is of type stack_trace"},
      {"only_tc", "no XDP program, only classifier (tc)"},
      {"extern_symbol", "it needs LINUX_KERNEL_VERSION"},
      {"not_there", "No such file"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto object = load_object(path_of(row.name));
    ASSERT_FALSE(object);
    EXPECT_NE(object.error().text.find(row.reason), std::string::npos) << describe(object.error());
  }
  EXPECT_FALSE(load_object(std::string(TRAMA_TEST_FILTERS)));
  EXPECT_FALSE(load_object("/dev/zero"));
  EXPECT_FALSE(load_object("/proc/self/exe")) << "an ELF file of this machine";
  EXPECT_FALSE(load_object(std::vector<uint8_t>{}, "nothing"));
}

TEST(Loader, SaysNothingOnStandardError) {
  std::vector<uint8_t> bytes = bytes_of_file(path_of("features"));
  ASSERT_GT(bytes.size(), 2000u);
  for (size_t at = 1000; at < 1400; ++at) bytes[at] = 0xff;
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  (void)load_object(bytes, "damaged");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Loader, LeavesNoProcessAndNoDescriptorBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = descriptors();
  for (int round = 0; round < 3; ++round) EXPECT_TRUE(load_object(path_of("features")));
  EXPECT_EQ(descriptors(), before);
}

// Whatever is loaded from a damaged object must also be analyzed, refused or not, and run to an end.
void survive(std::span<const uint8_t> bytes) {
  auto object = load_object(bytes, "damaged");
  if (!object) {
    EXPECT_FALSE(object.error().text.empty());
    return;
  }
  if (!analyze(*object)) return;
  Sandbox sandbox(std::move(*object));
  for (uint32_t program = 0; program < sandbox.object.programs.size(); ++program) sandbox.run(program);
}

TEST(HostileObjects, TruncatedAtAnyLengthAreRefused) {
  const std::vector<uint8_t> bytes = bytes_of_file(path_of("features"));
  const size_t step = bytes.size() / runs(40, 1000) + 1;
  for (size_t length = 0; length < bytes.size(); length += step) {
    SCOPED_TRACE(length);
    const auto object = load_object(std::span(bytes).first(length), "cut");
    EXPECT_FALSE(object);
  }
}

TEST(HostileObjects, MutatedAreRefusedOrHarmless) {
  const std::vector<uint8_t> original = bytes_of_file(path_of("features"));
  const uint64_t rounds = runs(80, 5000);
  for (uint64_t seed = 1; seed <= rounds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<uint8_t> bytes = original;
    for (uint64_t change = 0, changes = 1 + random() % 30; change < changes; ++change) {
      uint8_t& byte = bytes[random() % bytes.size()];
      byte = random() % 2 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(byte ^ (1u << random() % 8));
    }
    survive(bytes);
  }
}

TEST(ObjectCodec, DamagedRepliesAreRefused) {
  auto object = load_object(path_of("features"));
  ASSERT_TRUE(object);
  const std::vector<uint8_t> original = encode(*object);
  ASSERT_TRUE(decode(original));
  for (size_t length = 0; length < original.size(); length += 7)
    EXPECT_FALSE(decode(std::span(original).first(length))) << length;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> bytes = original;
    for (int change = 0; change < 4; ++change) bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    const auto decoded = decode(bytes);
    if (decoded) (void)analyze(*decoded);
  }
}

TEST(Disassemble, ReadsLikeTheToolsPeopleKnow) {
  const struct {
    const char* text;
    Assembler program;
  } rows[] = {
      {"r1 = *(u32 *)(r6 + 4)", Assembler().load(BPF_W, 1, 6, 4)},
      {"*(u64 *)(r10 - 8) = r1", Assembler().store(BPF_DW, 10, -8, 1)},
      {"*(u8 *)(r10 - 8) = 7", Assembler().store_imm(BPF_B, 10, -8, 7)},
      {"r1 += r2", Assembler().alu(BPF_ADD, 1, 2)},
      {"r1 s>>= 3", Assembler().alu_imm(BPF_ARSH, 1, 3)},
      {"w1 = w2", Assembler().alu32(BPF_MOV, 1, 2)},
      {"w1 = -w1", Assembler().raw(BPF_ALU | BPF_NEG, 1, 0, 0, 0)},
      {"r1 = be16 r1", Assembler().swap(BPF_TO_BE, 1, 16)},
      {"if r2 > 14 goto +3", Assembler().raw(BPF_JMP | BPF_JGT, 2, 0, 3, 14)},
      {"if w2 s<= w3 goto -3", Assembler().raw(BPF_JMP32 | BPF_JSLE | BPF_X, 2, 3, -3, 0)},
      {"goto +1", Assembler().raw(BPF_JMP | BPF_JA, 0, 0, 1, 0)},
      {"call bpf_map_lookup_elem#1", Assembler().call(BPF_FUNC_map_lookup_elem)},
      {"call pc+12", Assembler().raw(BPF_JMP | BPF_CALL, 0, 1, 0, 12)},
      {"exit", Assembler().exit()},
      {"lock *(u64 *)(r1 + 0) += r2", Assembler().atomic(BPF_DW, BPF_ADD, 1, 0, 2)},
      {"r2 = atomic_fetch_xor((u32 *)(r1 + 4), r2)", Assembler().atomic(BPF_W, BPF_XOR | BPF_FETCH, 1, 4, 2)},
      {"r0 = cmpxchg_64(r1 + 0, r0, r2)", Assembler().atomic(BPF_DW, BPF_CMPXCHG, 1, 0, 2)},
      {"r1 = 5 ll", Assembler().wide(1, 5)},
      {"r1 = map[array]", Assembler().map(1, 0)},
      {"unknown (ff r0 r0 0 0)", Assembler().raw(0xff, 0, 0, 0, 0)},
  };
  for (const auto& row : rows) {
    const Object object = object_of({row.program.code()}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 8, 1)});
    EXPECT_EQ(disassemble(object, object.programs[0], 0), row.text);
  }
}

}  // namespace
}  // namespace trama::ebpf
