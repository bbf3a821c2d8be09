#include "device/event.h"

#include <thread>

#include "check.h"
#include "gate.h"

using namespace spyre::device;

namespace {

struct OwnStream {
  explicit OwnStream(int device = 0) : ref(create_stream(device, 0)) {}
  ~OwnStream() { CHECK_OK(destroy_stream(ref)); }
  StreamRef ref;
};

}  // namespace

TEST(an_event_that_was_never_recorded_is_complete) {
  OwnStream stream;
  Event event(0);
  CHECK(event.query());
  CHECK_OK(event.synchronize());
  CHECK_OK(event.wait(stream.ref));
  CHECK(is_idle(stream.ref));
}

TEST(an_event_orders_streams_of_two_cards) {
  OwnStream a(0), b(1);
  Event event(0);
  auto gate = std::make_shared<Gate>();
  int value = 0, seen = -1;
  CHECK_OK(enqueue_gate(a.ref, gate));
  CHECK_OK(enqueue(a.ref, [&value] { value = 5; }));
  CHECK_OK(event.record(a.ref));
  CHECK_OK(event.wait(b.ref));
  CHECK_OK(enqueue(b.ref, [&] { seen = value; }));
  CHECK(!event.query());
  CHECK(!query(b.ref));
  gate->open();
  CHECK_OK(synchronize(b.ref));
  CHECK_EQ(seen, 5);
  CHECK(event.query());
}

TEST(a_wait_uses_the_value_at_record_time) {
  OwnStream a, b, c;
  Event event(0);
  auto first = std::make_shared<Gate>(), second = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(a.ref, first, Engine::kDma));
  CHECK_OK(event.record(a.ref));
  CHECK_OK(event.wait(b.ref));  // for the first record
  CHECK_OK(enqueue_gate(a.ref, second, Engine::kDma));
  CHECK_OK(event.record(a.ref));
  CHECK_OK(event.wait(c.ref));  // for the second
  int b_ran = 0, c_ran = 0;
  CHECK_OK(enqueue(b.ref, [&b_ran] { b_ran = 1; }));
  CHECK_OK(enqueue(c.ref, [&c_ran] { c_ran = 1; }));
  first->open();
  CHECK_OK(synchronize(b.ref));
  CHECK_EQ(b_ran, 1);
  CHECK(!query(c.ref));
  CHECK(!event.query());
  second->open();
  CHECK_OK(synchronize(c.ref));
  CHECK_EQ(c_ran, 1);
}

TEST(an_event_recorded_on_two_streams_completes_with_the_last_record) {
  OwnStream slow, fast, waiting;
  Event event(0);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(slow.ref, gate, Engine::kDma));
  CHECK_OK(event.record(slow.ref));
  CHECK_OK(event.wait(waiting.ref));
  CHECK_OK(event.record(fast.ref));  // idle: complete at once
  CHECK(event.query());
  CHECK(!query(waiting.ref));
  gate->open();
  CHECK_OK(synchronize(waiting.ref));
}

TEST(event_synchronize_waits_for_its_record_only) {
  OwnStream stream;
  Event event(0);
  auto gate = std::make_shared<Gate>();
  int done = 0;
  CHECK_OK(enqueue(stream.ref, [&done] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    done = 1;
  }));
  CHECK_OK(event.record(stream.ref));
  CHECK_OK(enqueue_gate(stream.ref, gate));
  CHECK_OK(event.synchronize());
  CHECK_EQ(done, 1);
  CHECK(!query(stream.ref));
  gate->open();
  CHECK_OK(synchronize(stream.ref));
}

TEST(a_stream_that_waits_for_an_event_does_not_block_others) {
  OwnStream source, waiting, free_stream;
  Event event(0);
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(source.ref, gate, Engine::kDma));
  CHECK_OK(event.record(source.ref));
  CHECK_OK(event.wait(waiting.ref));
  CHECK_OK(enqueue(waiting.ref, [] {}));
  int ran = 0;
  CHECK_OK(enqueue(free_stream.ref, [&ran] { ran = 1; }));
  CHECK_OK(synchronize(free_stream.ref));
  CHECK_EQ(ran, 1);
  CHECK(!query(waiting.ref));
  gate->open();
  CHECK_OK(synchronize(waiting.ref));
}

TEST(a_long_chain_of_waits_completes) {
  OwnStream streams[4] = {OwnStream(0), OwnStream(1), OwnStream(0), OwnStream(1)};
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(streams[0].ref, gate));
  int value = 0;
  for (int i = 0; i < 1000; ++i) {
    const StreamRef from = streams[i % 4].ref, to = streams[(i + 1) % 4].ref;
    CHECK_OK(enqueue(from, [&value] { ++value; }));
    Event event(from.device);
    CHECK_OK(event.record(from));
    CHECK_OK(event.wait(to));
  }
  gate->open();
  for (OwnStream& stream : streams) CHECK_OK(synchronize(stream.ref));
  CHECK_EQ(value, 1000);
}

TEST(timing_events_measure_the_work_between_them) {
  OwnStream stream;
  Event start(0, true), end(0, true), plain(0);
  double ms = -1;
  CHECK_CODE(Event::elapsed_ms(start, end, &ms), StatusCode::kInvalidArgument);  // not recorded
  CHECK_OK(start.record(stream.ref));
  CHECK_OK(enqueue(stream.ref, [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }));
  CHECK_OK(end.record(stream.ref));
  CHECK_OK(plain.record(stream.ref));
  CHECK_OK(end.synchronize());
  CHECK_OK(Event::elapsed_ms(start, end, &ms));
  CHECK(ms >= 10.0 && ms < 2000.0);
  CHECK_CONTAINS(Event::elapsed_ms(start, plain, &ms).message, "timing enabled");
  CHECK_OK(synchronize(stream.ref));
}

TEST(an_event_belongs_to_its_card) {
  Event event(0);
  const Status status = event.record({1, kDefaultStream});
  CHECK_CODE(status, StatusCode::kInvalidArgument);
  CHECK_CONTAINS(status.message, "event of card 0");
}
