// Lookups that machine code does by itself find what the map's own function finds.
#include <random>

#include "ebpf/helpers.hpp"
#include "tests/ebpf/jit_programs.hpp"
#include "tests/ebpf/jit_sandbox.hpp"

namespace trama::ebpf {
namespace {

using Bytes = std::vector<uint8_t>;

// How a program comes to its key and what it does with the result.
struct Form {
  bool compiled;  // the key's address right in front of the map, as compilers have it
  bool tested;    // for null, right behind the call
  bool constant;  // the length of the prefix
};

// The key (length and bits) is copied from the packet to the frame, four bytes at a time, the last first or last.
// Returns the value found plus 1, or 0.
std::vector<bpf_insn> lookup_of_packet(const Form& form, uint32_t key_size) {
  const int slot = -24;
  Assembler code = packet();
  code.mov(2, 6).add_imm(2, static_cast<int>(key_size)).jump(BPF_JGT, 2, 7, "out");
  for (uint32_t at = 8; at < key_size; at += 4)
    code.load(BPF_W, 3, 6, static_cast<int>(at)).store(BPF_W, 10, slot + static_cast<int>(at), 3);
  if (form.constant)
    code.mov_imm(3, (key_size - 4) * 8).store(BPF_W, 10, slot, 3);
  else
    code.load(BPF_W, 3, 6, 0).store(BPF_W, 10, slot, 3);
  code.load(BPF_W, 3, 6, 4).store(BPF_W, 10, slot + 4, 3);
  if (form.compiled)
    code.lookup(0, slot);
  else
    code.mov(8, 10).map(1, 0).mov(2, 8).add_imm(2, slot).call(BPF_FUNC_map_lookup_elem);
  if (!form.tested) code.mov(9, 0);
  code.jump_imm(BPF_JEQ, 0, 0, "out").load(BPF_W, 0, 0, 0).add_imm(0, 1).exit();
  return code.label("out").mov_imm(0, 0).exit().code();
}

Bytes random_key(std::mt19937& random, uint32_t key_size, uint32_t length) {
  Bytes key(key_size);
  std::memcpy(key.data(), &length, sizeof length);
  for (size_t i = 4; i < key.size(); ++i) key[i] = static_cast<uint8_t>(i < 6 ? random() % 4 : random() % 256);
  return key;
}

void compare_lookups(uint32_t key_size, size_t prefixes, const Form& form) {
  SCOPED_TRACE(std::to_string(key_size) + " bytes, " + std::to_string(prefixes) + " prefixes, form " +
               std::to_string(form.compiled) + std::to_string(form.tested) + std::to_string(form.constant));
  JitSandbox sandbox(
      object_of({lookup_of_packet(form, key_size)}, {map_spec("ranges", BPF_MAP_TYPE_LPM_TRIE, key_size, 4, 1000)}));
  ASSERT_TRUE(sandbox.jit);
  std::mt19937 random(static_cast<uint32_t>(prefixes + key_size));
  const uint32_t bits = (key_size - 4) * 8;
  std::vector<Prefix> list;
  for (uint32_t i = 0; i < prefixes; ++i)
    list.push_back({random_key(random, key_size, static_cast<uint32_t>(random() % (bits + 1))), bytes_of(i)});
  if (prefixes != 0) {
    ASSERT_TRUE(sandbox.maps->replace(0, list));
  }
  const Map& map = (*sandbox.maps)[0];
  size_t found = 0;
  for (int i = 0; i < 3000; ++i) {
    const uint32_t length = form.constant || random() % 4 != 0 ? bits : static_cast<uint32_t>(random() % (bits + 2));
    Bytes key = random_key(random, key_size, length);
    if (prefixes != 0 && random() % 2 == 0)
      std::copy_n(list[random() % prefixes].key.begin() + 4, key_size - 4 - random() % 2, key.begin() + 4);
    const uint64_t result = sandbox.run(TestPacket(key));
    ASSERT_EQ(sandbox.fault(), Fault::none);
    const uint8_t* const value = map.lookup(key.data(), sandbox.execution.get());
    uint32_t expected = 0;
    if (value) std::memcpy(&expected, value, sizeof expected);
    ASSERT_EQ(result, value ? uint64_t{expected} + 1 : 0) << "key " << i;
    found += value != nullptr;
  }
  EXPECT_EQ(found != 0, prefixes != 0);
}

TEST(JitLookup, LpmTriesAgreeWithTheirMap) {
  for (const uint32_t key_size : {8u, 12u, 20u})
    for (const size_t prefixes : {size_t{0}, size_t{1}, size_t{20}, size_t{900}})
      for (int form = 0; form < 8; ++form)
        compare_lookups(key_size, prefixes, {(form & 1) != 0, (form & 2) != 0, (form & 4) != 0});
}

// A list that is replaced holds for the batch that begins afterwards.
TEST(JitLookup, ANewListHoldsFromTheNextBatchOn) {
  JitSandbox sandbox(
      object_of({lookup_of_packet({true, true, true}, 8)}, {map_spec("ranges", BPF_MAP_TYPE_LPM_TRIE, 8, 4, 10)}));
  ASSERT_TRUE(sandbox.jit);
  const TestPacket ten(Bytes{32, 0, 0, 0, 10, 1, 2, 3});
  for (uint32_t list = 0; list < 3; ++list) {
    EXPECT_EQ(sandbox.run(ten), list == 0 ? 0 : uint64_t{list});
    ASSERT_TRUE(sandbox.maps->replace(0, std::vector<Prefix>{{Bytes{8, 0, 0, 0, 10, 0, 0, 0}, bytes_of(list)}}));
  }
}

// Which entry of an array: known, known to be none, different on two ways, overwritten in part or by somebody else.
TEST(JitLookup, EntriesOfArrays) {
  const auto value_at = [](const Assembler& key) {
    Assembler code = key;
    return code.lookup(0, -8)
        .jump_imm(BPF_JEQ, 0, 0, "none")
        .load(BPF_DW, 0, 0, 0)
        .exit()
        .label("none")
        .mov_imm(0, 99)
        .exit()
        .code();
  };
  const struct {
    const char* what;
    Assembler key;
    uint64_t expected;
  } rows[] = {
      {"known", packet().store_imm(BPF_W, 10, -8, 2), 2},
      {"known, from a register", packet().mov_imm(3, 1).store(BPF_W, 10, -8, 3), 1},
      {"known, of eight bytes", packet().mov_imm(3, 3).store(BPF_DW, 10, -8, 3), 3},
      {"none", packet().store_imm(BPF_W, 10, -8, 4), 99},
      {"none, negative", packet().store_imm(BPF_W, 10, -8, -1), 99},
      {"two ways",
       packet()
           .store_imm(BPF_W, 10, -8, 1)
           .mov(2, 6)
           .add_imm(2, 10)
           .jump(BPF_JGT, 2, 7, "short")
           .store_imm(BPF_W, 10, -8, 2)
           .label("short"),
       2},
      {"overwritten in part", packet().store_imm(BPF_W, 10, -8, 3).load(BPF_B, 3, 6, 0).store(BPF_B, 10, -8, 3), 0},
      {"overwritten by a helper",
       Assembler()
           .store_imm(BPF_W, 10, -8, 3)
           .mov_imm(2, 0)
           .mov(3, 10)
           .add_imm(3, -8)
           .mov_imm(4, 4)
           .call(BPF_FUNC_xdp_load_bytes),
       0},
      {"overwritten through a pointer",
       packet().store_imm(BPF_W, 10, -8, 3).mov(3, 10).add_imm(3, -4).store_imm(BPF_W, 3, -4, 1), 1},
      {"overwritten at a place that varies",
       packet()
           .store_imm(BPF_W, 10, -8, 3)
           .load(BPF_B, 4, 6, 0)
           .alu_imm(BPF_AND, 4, 4)
           .mov(3, 10)
           .alu(BPF_ADD, 3, 4)
           .store_imm(BPF_W, 3, -8, 1),
       1},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    JitSandbox sandbox(object_of({value_at(row.key)}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 8, 4)}));
    ASSERT_TRUE(sandbox.jit);
    for (uint64_t entry = 0; entry < 4; ++entry)
      ASSERT_TRUE((*sandbox.maps)[0].set(bytes_of(static_cast<uint32_t>(entry)), bytes_of(entry)));
    EXPECT_EQ(sandbox.run(), row.expected);
  }
}

// The function writes into the frame of its caller.
TEST(JitLookup, AKeyThatAFunctionOverwrites) {
  const auto code = Assembler()
                        .store_imm(BPF_W, 10, -8, 3)
                        .mov(1, 10)
                        .call("f")
                        .lookup(0, -8)
                        .jump_imm(BPF_JEQ, 0, 0, "none")
                        .load(BPF_DW, 0, 0, 0)
                        .label("none")
                        .exit()
                        .label("f")
                        .store_imm(BPF_W, 1, -8, 1)
                        .mov_imm(0, 0)
                        .exit()
                        .code();
  JitSandbox sandbox(object_of({code}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 8, 4)}));
  ASSERT_TRUE(sandbox.jit);
  ASSERT_TRUE((*sandbox.maps)[0].set(bytes_of(1u), bytes_of(uint64_t{7})));
  EXPECT_EQ(sandbox.run(), 7u);
}

// Two ways to a call that is about to come: of packets of more than 30 bytes with a key of 2, of others with one of 1.
void expect_two_ways(const Assembler& two_ways) {
  Assembler code = two_ways;
  code.call(BPF_FUNC_map_lookup_elem).jump_imm(BPF_JEQ, 0, 0, "none").load(BPF_DW, 0, 0, 0).label("none").exit();
  JitSandbox sandbox(object_of({code.code()}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 8, 4)}));
  ASSERT_TRUE(sandbox.jit);
  ASSERT_TRUE((*sandbox.maps)[0].set(bytes_of(1u), bytes_of(uint64_t{7})));
  ASSERT_TRUE((*sandbox.maps)[0].set(bytes_of(2u), bytes_of(uint64_t{8})));
  EXPECT_EQ(sandbox.run(TestPacket(Bytes(20))), 7u);
  EXPECT_EQ(sandbox.run(TestPacket(Bytes(60))), 8u);
}

// Both keys are on the stack; r8: the length of the packet.
Assembler two_keys() {
  return packet().store_imm(BPF_W, 10, -8, 1).store_imm(BPF_W, 10, -4, 2).mov(8, 7).alu(BPF_SUB, 8, 6);
}

// What stands around a lookup becomes part of it only where nothing jumps into the middle.
TEST(JitLookup, JumpsIntoTheMiddle) {
  expect_two_ways(two_keys()
                      .mov(2, 10)
                      .add_imm(2, -4)
                      .jump_imm(BPF_JGT, 8, 30, "long")
                      .mov(2, 10)
                      .add_imm(2, -8)
                      .label("long")
                      .map(1, 0));
}

TEST(JitLookup, JumpsToTheCall) {
  expect_two_ways(two_keys()
                      .map(1, 0)
                      .mov(2, 10)
                      .add_imm(2, -4)
                      .jump_imm(BPF_JGT, 8, 30, "call")
                      .mov(2, 10)
                      .add_imm(2, -8)
                      .map(1, 0)
                      .label("call"));
}

}  // namespace
}  // namespace trama::ebpf
