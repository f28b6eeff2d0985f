// What the interpreter does at once where it can be seen: frames that are cleared as far as they are used, and pairs of
// instructions.
#include "ebpf/helpers.hpp"
#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

// Frames are clear when their function begins, all of them, whatever other packets left there.
TEST(Interpreter, FramesAreClear) {
  const auto leaves_or_finds = [](int offset) {
    return with_packet()
        .mov(8, 7)
        .alu(BPF_SUB, 8, 6)
        .jump_imm(BPF_JGT, 8, 30, "find")
        .store_imm(BPF_DW, 10, offset, 7)
        .label("find")
        .load(BPF_DW, 0, 10, offset)
        .exit()
        .code();
  };
  for (int offset = -512; offset <= -8; offset += 8) {
    SCOPED_TRACE(offset);
    Sandbox sandbox(object_of({leaves_or_finds(offset)}));
    EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(20))), 7u);
    EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(60))), 0u);
  }
}

// A function that is called again finds nothing of the first time; a helper that writes finds the frame clear around
// it.
TEST(Interpreter, FramesOfFunctionsAreClear) {
  const auto code = Assembler()
                        .mov(6, 1)
                        .call("f")
                        .mov(7, 0)
                        .mov(1, 6)
                        .call("f")
                        .alu(BPF_ADD, 0, 7)
                        .exit()
                        .label("f")
                        .load(BPF_DW, 7, 10, -400)
                        .load(BPF_DW, 8, 10, -16)
                        .store_imm(BPF_DW, 10, -400, 3)
                        .store_imm(BPF_DW, 10, -16, 5)
                        .mov_imm(2, 0)
                        .mov(3, 10)
                        .add_imm(3, -300)
                        .mov_imm(4, 2)
                        .call(BPF_FUNC_xdp_load_bytes)
                        .load(BPF_DW, 0, 10, -300)
                        .alu(BPF_ADD, 0, 7)
                        .alu(BPF_ADD, 0, 8)
                        .exit()
                        .code();
  Sandbox sandbox(object_of({code}));
  for (int packets = 0; packets < 3; ++packets)
    EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(60, 1))), 2 * 0x101u);
}

// Two instructions that are done as one are still two for who jumps between them.
TEST(Interpreter, JumpsBetweenTwoInstructionsThatAreOne) {
  const auto sum = with_packet()
                       .mov_imm(3, 5)
                       .mov_imm(2, 100)
                       .mov(8, 7)
                       .alu(BPF_SUB, 8, 6)
                       .jump_imm(BPF_JGT, 8, 30, "add")
                       .mov(2, 3)
                       .label("add")
                       .add_imm(2, 1)
                       .mov(0, 2)
                       .exit()
                       .code();
  Sandbox sandbox(object_of({sum}));
  EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(20))), 6u);
  EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(60))), 101u);
  const auto lookup = with_packet()
                          .store_imm(BPF_W, 10, -8, 1)
                          .mov_imm(0, 0)
                          .mov(8, 7)
                          .alu(BPF_SUB, 8, 6)
                          .jump_imm(BPF_JGT, 8, 30, "test")
                          .lookup(0, -8)
                          .label("test")
                          .jump_imm(BPF_JEQ, 0, 0, "none")
                          .load(BPF_DW, 0, 0, 0)
                          .exit()
                          .label("none")
                          .mov_imm(0, 9)
                          .exit()
                          .code();
  Sandbox other(object_of({lookup}, {map_spec("array", BPF_MAP_TYPE_ARRAY, 4, 8, 4)}));
  EXPECT_EQ(other.run(TestPacket(std::vector<uint8_t>(20))), 0u);
  EXPECT_EQ(other.run(TestPacket(std::vector<uint8_t>(60))), 9u);
}

}  // namespace
}  // namespace trama::ebpf
