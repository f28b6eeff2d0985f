// Helpers, as programs that the interpreter runs call them.
#include "ebpf/helpers.hpp"

#include <cerrno>

#include "tests/ebpf/sandbox.hpp"

namespace trama::ebpf {
namespace {

constexpr int kData = offsetof(xdp_md, data), kDataEnd = offsetof(xdp_md, data_end),
              kDataMeta = offsetof(xdp_md, data_meta);

uint64_t negative(int number) { return static_cast<uint64_t>(int64_t{-number}); }

// Moves the packet's start or its metadata and returns the distance of two fields of the context then, or the error.
Object moved(int helper, int delta, int first_field, int last_field) {
  return object_of({Assembler()
                        .mov(6, 1)
                        .mov_imm(2, delta)
                        .call(helper)
                        .mov(9, 0)
                        .load(BPF_W, 7, 6, first_field)
                        .load(BPF_W, 8, 6, last_field)
                        .alu(BPF_SUB, 8, 7)
                        .mov(0, 9)
                        .jump_imm(BPF_JNE, 0, 0, "out")
                        .mov(0, 8)
                        .label("out")
                        .exit()
                        .code()});
}

TEST(Helpers, MapsThroughPrograms) {
  const Assembler program = Assembler()
                                .store_imm(BPF_W, 10, -4, 7)
                                .store_imm(BPF_DW, 10, -16, 5)
                                .map(1, 0)
                                .mov(2, 10)
                                .add_imm(2, -4)
                                .mov(3, 10)
                                .add_imm(3, -16)
                                .mov_imm(4, BPF_NOEXIST)
                                .call(BPF_FUNC_map_update_elem)
                                .mov(6, 0)
                                .lookup(0, -4)
                                .load(BPF_DW, 7, 0, 0)
                                .map(1, 0)
                                .mov(2, 10)
                                .add_imm(2, -4)
                                .call(BPF_FUNC_map_delete_elem)
                                .alu(BPF_ADD, 0, 7)
                                .alu(BPF_ADD, 0, 6)
                                .exit();
  Sandbox sandbox(object_of({program.code()}, {map_spec("h", BPF_MAP_TYPE_HASH, 4, 8, 4)}));
  EXPECT_EQ(sandbox.run(), 5u);
  EXPECT_EQ(sandbox.fault(), Fault::none);
  EXPECT_FALSE((*sandbox.maps)[0].read(bytes_of(7u)));
}

TEST(Helpers, ClockAndChanceCanBeGiven) {
  Sandbox clock(object_of({Assembler().call(BPF_FUNC_ktime_get_ns).exit().code()}));
  EXPECT_GT(clock.run(), 0u);
  TestPacket packet(std::vector<uint8_t>(60));
  PacketView view = packet.view();
  view.time_ns = 1234567;
  clock.execution->show(view);
  EXPECT_EQ(clock.interpreter.run(0, *clock.execution), 1234567u);

  Sandbox chance(object_of({Assembler().call(BPF_FUNC_get_prandom_u32).exit().code()}));
  const uint64_t first = chance.run(), second = chance.run();
  EXPECT_NE(first, second);
  chance.execution->random_state = 1;
  EXPECT_EQ(chance.run(), first);
}

TEST(Helpers, AdjustHeadMovesTheStart) {
  const auto adjust = [](int delta) { return moved(BPF_FUNC_xdp_adjust_head, delta, kData, kDataEnd); };
  const std::vector<uint8_t> bytes(60);
  EXPECT_EQ(Sandbox(adjust(14)).run(TestPacket(bytes)), 46u);
  EXPECT_EQ(Sandbox(adjust(46)).run(TestPacket(bytes)), 14u);
  EXPECT_EQ(Sandbox(adjust(47)).run(TestPacket(bytes)), negative(EINVAL)) << "less than an Ethernet header is left";
  EXPECT_EQ(Sandbox(adjust(-4)).run(TestPacket(bytes)), negative(EINVAL)) << "without headroom";
  EXPECT_EQ(Sandbox(adjust(-4)).run(TestPacket(bytes, kHeadroomBytes)), 64u);
  EXPECT_EQ(Sandbox(adjust(-216)).run(TestPacket(bytes, kHeadroomBytes)), 276u);
  EXPECT_EQ(Sandbox(adjust(-217)).run(TestPacket(bytes, kHeadroomBytes)), negative(EINVAL));
}

TEST(Helpers, AdjustMetaMakesRoomForMetadata) {
  const auto adjust = [](int delta) { return moved(BPF_FUNC_xdp_adjust_meta, delta, kDataMeta, kData); };
  const std::vector<uint8_t> bytes(60);
  EXPECT_EQ(Sandbox(adjust(-8)).run(TestPacket(bytes, kHeadroomBytes)), 8u);
  EXPECT_EQ(Sandbox(adjust(-6)).run(TestPacket(bytes, kHeadroomBytes)), negative(EACCES));
  EXPECT_EQ(Sandbox(adjust(4)).run(TestPacket(bytes, kHeadroomBytes)), negative(EINVAL));
  EXPECT_EQ(Sandbox(adjust(-4)).run(TestPacket(bytes)), negative(EINVAL));
  // Metadata can be written, and moves with the start of the packet.
  const auto write = Assembler()
                         .mov(6, 1)
                         .mov_imm(2, -4)
                         .call(BPF_FUNC_xdp_adjust_meta)
                         .load(BPF_W, 7, 6, 8)
                         .store_imm(BPF_W, 7, 0, 1234)
                         .mov(1, 6)
                         .mov_imm(2, -8)
                         .call(BPF_FUNC_xdp_adjust_head)
                         .load(BPF_W, 7, 6, 8)
                         .load(BPF_W, 0, 7, 0)
                         .exit()
                         .code();
  EXPECT_EQ(Sandbox(object_of({write})).run(TestPacket(bytes, kHeadroomBytes)), 1234u);
}

TEST(Helpers, LoadBytesCopiesOrRefuses) {
  const auto load = [](int64_t offset, int size) {
    return object_of({Assembler()
                          .mov_imm(2, offset)
                          .mov(3, 10)
                          .add_imm(3, -16)
                          .mov_imm(4, size)
                          .call(BPF_FUNC_xdp_load_bytes)
                          .jump_imm(BPF_JNE, 0, 0, "out")
                          .load(BPF_W, 0, 10, -16)
                          .label("out")
                          .exit()
                          .code()});
  };
  std::vector<uint8_t> bytes(60);
  bytes[56] = 0x11;
  bytes[59] = 0x22;
  EXPECT_EQ(Sandbox(load(56, 4)).run(TestPacket(bytes)), 0x22000011u);
  EXPECT_EQ(Sandbox(load(57, 4)).run(TestPacket(bytes)), negative(EINVAL));
  EXPECT_EQ(Sandbox(load(-1, 4)).run(TestPacket(bytes)), negative(EFAULT));
  EXPECT_EQ(Sandbox(load(0x10000, 4)).run(TestPacket(bytes)), negative(EFAULT));
  Sandbox outside(load(0, 17));
  EXPECT_EQ(outside.run(TestPacket(bytes)), 0u) << "it writes into the frame above: the stack is one piece of memory";
  Sandbox length(object_of({Assembler().call(BPF_FUNC_xdp_get_buff_len).exit().code()}));
  EXPECT_EQ(length.run(TestPacket(bytes)), 60u);
}

TEST(Helpers, RedirectIsNoted) {
  Sandbox plain(object_of({Assembler().mov_imm(1, 9).mov_imm(2, 0).call(BPF_FUNC_redirect).exit().code()}));
  EXPECT_EQ(plain.run(), uint64_t{XDP_REDIRECT});
  EXPECT_EQ(plain.execution->redirect_target, 9u);
  Sandbox map(
      object_of({Assembler().map(1, 0).mov_imm(2, 1).mov_imm(3, XDP_PASS).call(BPF_FUNC_redirect_map).exit().code()},
                {map_spec("sockets", BPF_MAP_TYPE_XSKMAP, 4, 4, 2)}));
  EXPECT_EQ(map.run(), uint64_t{XDP_PASS}) << "no socket there";
  ASSERT_TRUE((*map.maps)[0].set(bytes_of(1u), bytes_of(1u)));
  EXPECT_EQ(map.run(), uint64_t{XDP_REDIRECT});
}

class RecordingSink : public EventSink {
 public:
  void event(uint32_t map, std::span<const uint8_t> record, std::span<const uint8_t> packet) noexcept override {
    events.push_back({map, {record.begin(), record.end()}, {packet.begin(), packet.end()}});
  }
  void trace(std::span<const char> line) noexcept override { lines.emplace_back(line.begin(), line.end()); }
  struct Event {
    uint32_t map;
    std::vector<uint8_t> record, packet;
  };
  std::vector<Event> events;
  std::vector<std::string> lines;
};

TEST(Helpers, RingBufferRecordsAreCountedAndHandedOn) {
  const Assembler program = Assembler()
                                .map(1, 0)
                                .mov_imm(2, 12)
                                .mov_imm(3, 0)
                                .call(BPF_FUNC_ringbuf_reserve)
                                .jump_imm(BPF_JEQ, 0, 0, "out")
                                .mov(6, 0)
                                .store_imm(BPF_DW, 6, 0, 7)
                                .map(1, 0)
                                .mov_imm(2, 8)
                                .mov_imm(3, 0)
                                .call(BPF_FUNC_ringbuf_reserve)
                                .mov(1, 0)
                                .mov_imm(2, 0)
                                .call(BPF_FUNC_ringbuf_discard)
                                .mov(1, 6)
                                .mov_imm(2, 0)
                                .call(BPF_FUNC_ringbuf_submit)
                                .store_imm(BPF_DW, 10, -8, 9)
                                .map(1, 0)
                                .mov(2, 10)
                                .add_imm(2, -8)
                                .mov_imm(3, 8)
                                .mov_imm(4, 0)
                                .call(BPF_FUNC_ringbuf_output)
                                .label("out")
                                .mov_imm(0, 0)
                                .exit();
  Sandbox sandbox(object_of({program.code()}, {map_spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096)}));
  RecordingSink sink;
  sandbox.execution->sink = &sink;
  sandbox.run();
  EXPECT_EQ(sandbox.fault(), Fault::none);
  EXPECT_EQ(sandbox.execution->events, 2u);
  ASSERT_EQ(sink.events.size(), 2u);
  EXPECT_EQ(sink.events[0].record, (std::vector<uint8_t>{7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sink.events[1].record, bytes_of(uint64_t{9}));
}

TEST(Helpers, ARecordIsClosedOnceAndThenOutOfReach) {
  const Assembler start = Assembler().map(1, 0).mov_imm(2, 12).mov_imm(3, 0).call(BPF_FUNC_ringbuf_reserve).mov(6, 0);
  const Assembler submit = Assembler(start).mov(1, 6).mov_imm(2, 0).call(BPF_FUNC_ringbuf_submit);
  const struct {
    const char* what;
    Fault fault;
    Assembler program;
  } rows[] = {
      {"behind it", Fault::bad_access, Assembler(start).store_imm(BPF_W, 6, 12, 1).exit()},
      {"before it", Fault::bad_access, Assembler(start).store_imm(BPF_W, 6, -4, 1).exit()},
      {"written after it was submitted", Fault::bad_access, Assembler(submit).store_imm(BPF_W, 6, 0, 1).exit()},
      {"submitted twice", Fault::bad_argument,
       Assembler(submit).mov(1, 6).mov_imm(2, 0).call(BPF_FUNC_ringbuf_submit).exit()},
      {"submitted in the middle", Fault::bad_argument,
       Assembler(start).mov(1, 6).add_imm(1, 4).mov_imm(2, 0).call(BPF_FUNC_ringbuf_submit).exit()},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    Sandbox sandbox(object_of({row.program.code()}, {map_spec("ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096)}));
    sandbox.run();
    EXPECT_EQ(sandbox.fault(), row.fault);
  }
}

TEST(Helpers, PerfEventsCarryThePacket) {
  const Assembler program = Assembler()
                                .store_imm(BPF_DW, 10, -8, 9)
                                .map(2, 0)
                                .wide(3, (uint64_t{20} << 32) | BPF_F_CURRENT_CPU)
                                .mov(4, 10)
                                .add_imm(4, -8)
                                .mov_imm(5, 8)
                                .call(BPF_FUNC_perf_event_output)
                                .exit();
  Sandbox sandbox(object_of({program.code()}, {map_spec("events", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 2)}));
  RecordingSink sink;
  sandbox.execution->sink = &sink;
  std::vector<uint8_t> bytes(60);
  for (size_t index = 0; index < bytes.size(); ++index) bytes[index] = static_cast<uint8_t>(index);
  EXPECT_EQ(sandbox.run(TestPacket(bytes)), 0u);
  ASSERT_EQ(sink.events.size(), 1u);
  EXPECT_EQ(sink.events[0].packet, std::vector<uint8_t>(bytes.begin(), bytes.begin() + 20));
  EXPECT_EQ(sandbox.run(TestPacket(std::vector<uint8_t>(19))), negative(EFAULT));
}

TEST(Helpers, TracesAreFormatted) {
  const struct {
    const char* format;
    const char* expected;
  } rows[] = {
      {"plain", "plain"},
      {"%d|%u|%x", "-5|4294967291|ff"},
      {"%ld %lx", "-5 fffffffffffffffb"},
      {"%08llx%%", "fffffffffffffffb%"},
      {"%04x", "fffffffb"},
      {"%s", "%s"},
      {"%d %d %d %d", "-5 -5 255 %d"},
      {"line\n", "line"},
      {"100%", "100%"},
      {"%hhu", "251"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.format);
    std::vector<uint8_t> text(32);
    std::memcpy(text.data(), row.format, std::strlen(row.format));
    MapSpec constants = map_spec(".rodata", BPF_MAP_TYPE_ARRAY, 4, 32, 1);
    constants.section = Section::rodata;
    constants.initial_value = text;
    Sandbox sandbox(object_of({Assembler()
                                   .map_value(1, 0, 0)
                                   .mov_imm(2, static_cast<int64_t>(std::strlen(row.format)) + 1)
                                   .mov_imm(3, -5)
                                   .mov_imm(4, -5)
                                   .mov_imm(5, 255)
                                   .call(BPF_FUNC_trace_printk)
                                   .exit()
                                   .code()},
                              {constants}));
    RecordingSink sink;
    sandbox.execution->sink = &sink;
    EXPECT_EQ(sandbox.run(), std::strlen(row.expected));
    ASSERT_EQ(sink.lines.size(), 1u);
    // The third argument is 255; rows that show two look at the first two.
    EXPECT_EQ(sink.lines[0], row.expected);
  }
}

}  // namespace
}  // namespace trama::ebpf
