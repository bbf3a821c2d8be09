#include "device/graph.h"

#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"
#include "device/event.h"
#include "gate.h"

using namespace spyre::device;

namespace {

struct OwnStream {
  explicit OwnStream(int device = 0) : ref(create_stream(device, 0)) {}
  ~OwnStream() { (void)destroy_stream(ref); }
  StreamRef ref;
};

}  // namespace

TEST(a_graph_records_instead_of_running_and_replays_in_order) {
  OwnStream stream;
  Log log;
  Graph graph;
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  CHECK(is_capturing(stream.ref));
  CHECK(graph.pool() != (MempoolId{0, 0}));
  bool inline_ok = true;
  CHECK_OK(may_run_inline(stream.ref, &inline_ok));
  CHECK(!inline_ok);
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(
        enqueue(stream.ref, [&log, i] { log.add(i); }, i == 1 ? Engine::kDma : Engine::kCompute));
  }
  CHECK_OK(graph.capture_end());
  CHECK_OK(synchronize(stream.ref));
  CHECK(log.values().empty());
  for (int i = 0; i < 2; ++i) CHECK_OK(graph.replay(stream.ref));
  CHECK_OK(synchronize(stream.ref));
  CHECK((log.values() == std::vector<int>{0, 1, 2, 0, 1, 2}));
}

TEST(synchronising_calls_are_refused_and_end_the_capture) {
  OwnStream stream;
  Graph graph;
  CHECK_CODE(graph.capture_end(), StatusCode::kCapture);
  CHECK_CODE(graph.replay(stream.ref), StatusCode::kCapture);
  Event event(0);
  const std::vector<std::pair<std::function<Status()>, StatusCode>> calls = {
      {[&] { return synchronize(stream.ref); }, StatusCode::kCapture},
      {[&] { return synchronize_device(0); }, StatusCode::kCapture},
      {[&] { return event.synchronize(); }, StatusCode::kCapturedEvent},
      {[&] { return destroy_stream(stream.ref); }, StatusCode::kCapture},
      {[&] { return graph.capture_begin(stream.ref, {0, 0}); }, StatusCode::kIllegalState},
      {[&] {
         bool done;
         return event.user_query(&done);
       },
       StatusCode::kCapturedEvent},
  };
  for (const auto& [call, code] : calls) {
    CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
    CHECK_OK(event.record(stream.ref));
    CHECK(!event.query());
    CHECK_OK(synchronize_device(1));
    const Status status = call();
    CHECK(status.code == code);
    CHECK_CODE(enqueue(stream.ref, [] {}), StatusCode::kCaptureInvalidated);
    const Status end = graph.capture_end();
    CHECK(end.code == StatusCode::kCaptureInvalidated);
    CHECK_CONTAINS(end.message, status.message);
    CHECK_OK(synchronize_device(0));
    CHECK(event.query());
    CHECK_CODE(graph.replay(stream.ref), StatusCode::kCapture);
  }
}

TEST(unjoined_work_is_an_error_and_the_streams_are_usable) {
  OwnStream main_stream, side, third;
  Graph graph;
  Event fork(0), again(0), join(0);
  int ran = 0;
  CHECK_OK(graph.capture_begin(main_stream.ref, {0, 0}));
  CHECK_OK(fork.record(main_stream.ref));
  CHECK_OK(fork.wait(side.ref));
  CHECK_OK(enqueue(side.ref, [&ran] { ++ran; }));
  CHECK_CODE(graph.capture_end(), StatusCode::kCaptureUnjoined);
  CHECK(!is_capturing(side.ref));
  CHECK(!is_capturing(main_stream.ref));
  CHECK_CODE(graph.replay(main_stream.ref), StatusCode::kCapture);
  // Joined, but one more work after the join.
  CHECK_OK(graph.capture_begin(main_stream.ref, {0, 0}));
  CHECK_OK(fork.record(main_stream.ref));
  CHECK_OK(fork.wait(side.ref));
  CHECK_OK(enqueue(side.ref, [&ran] { ++ran; }));
  CHECK_OK(join.record(side.ref));
  CHECK_OK(enqueue(side.ref, [&ran] { ++ran; }));
  CHECK_OK(join.wait(main_stream.ref));
  CHECK_CODE(graph.capture_end(), StatusCode::kCaptureUnjoined);
  // Joined through a third stream; a stream without work needs no join.
  OwnStream idle;
  CHECK_OK(graph.capture_begin(main_stream.ref, {0, 0}));
  CHECK_OK(fork.record(main_stream.ref));
  CHECK_OK(fork.wait(side.ref));
  CHECK_OK(fork.wait(idle.ref));
  CHECK_OK(enqueue(side.ref, [&ran] { ++ran; }));
  CHECK_OK(again.record(side.ref));
  CHECK_OK(again.wait(third.ref));
  CHECK_OK(enqueue(third.ref, [&ran] { ++ran; }));
  CHECK_OK(join.record(third.ref));
  CHECK_OK(join.wait(main_stream.ref));
  CHECK_OK(graph.capture_end());
  CHECK_OK(graph.replay(main_stream.ref));
  CHECK_OK(synchronize_device(0));
  CHECK_EQ(ran, 2);
}

TEST(captures_do_not_mix) {
  OwnStream one, two;
  Graph first, second;
  Event event(0);
  CHECK_OK(first.capture_begin(one.ref, {0, 0}));
  CHECK_OK(second.capture_begin(two.ref, {0, 0}));
  CHECK_OK(event.record(one.ref));
  CHECK_CODE(event.wait({0, kDefaultStream}), StatusCode::kCaptureImplicit);
  CHECK_CODE(event.wait(two.ref), StatusCode::kCaptureMerge);
  CHECK_CODE(first.capture_end(), StatusCode::kCaptureInvalidated);
  CHECK_CODE(second.capture_end(), StatusCode::kCaptureInvalidated);
  CHECK_OK(synchronize_device(0));
}

TEST(who_may_end_a_capture_and_ask_for_events) {
  OwnStream stream;
  Event event(0);
  CHECK_OK(event.record(stream.ref));
  const auto elsewhere = [](auto call) {
    Status status;
    std::thread([&] { status = call(); }).join();
    return status;
  };
  const auto query = [&] {
    bool done;
    return event.user_query(&done);
  };
  struct Case {
    CaptureMode mode;
    bool other_may_end, own_may_query, other_may_query;
  };
  for (const Case& c : {Case{CaptureMode::kGlobal, false, false, false},
                        Case{CaptureMode::kThreadLocal, false, false, true},
                        Case{CaptureMode::kRelaxed, true, true, true}}) {
    Graph graph;
    CHECK_OK(graph.capture_begin(stream.ref, {0, 0}, c.mode));
    CHECK_EQ(elsewhere(query).is_ok(), c.other_may_query);
    CHECK_EQ(query().is_ok(), c.own_may_query);
    const Status ended = elsewhere([&] { return graph.capture_end(); });
    CHECK_EQ(ended.is_ok(), c.other_may_end);
    if (c.other_may_end) continue;
    CHECK(ended.code == StatusCode::kCaptureWrongThread);
    CHECK(is_capturing(stream.ref));
    CHECK_CODE(graph.capture_end(), StatusCode::kCaptureInvalidated);  // by the query
  }
  CHECK_OK(query());
}

TEST(streams_join_a_capture_through_events) {
  OwnStream main_stream, side;
  Log log;
  Graph graph;
  Event fork(0), join(0);
  CHECK_OK(graph.capture_begin(main_stream.ref, {0, 0}));
  CHECK_OK(enqueue(main_stream.ref, [&log] { log.add(1); }));
  CHECK_OK(fork.record(main_stream.ref));
  CHECK_OK(fork.wait(side.ref));
  CHECK(is_capturing(side.ref));
  CHECK_OK(enqueue(side.ref, [&log] { log.add(2); }));
  CHECK_OK(join.record(side.ref));
  CHECK_OK(join.wait(main_stream.ref));
  CHECK_OK(enqueue(main_stream.ref, [&log] { log.add(3); }));
  CHECK_OK(graph.capture_end());
  CHECK(!is_capturing(side.ref));
  CHECK_OK(graph.replay(side.ref));
  CHECK_OK(synchronize(side.ref));
  CHECK((log.values() == std::vector<int>{1, 2, 3}));
}

TEST(a_capture_cannot_wait_for_work_outside) {
  OwnStream outside, stream;
  auto gate = std::make_shared<Gate>();
  Event event(0);
  CHECK_OK(enqueue_gate(outside.ref, gate));
  CHECK_OK(event.record(outside.ref));
  Graph graph;
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  CHECK_CODE(event.wait(stream.ref), StatusCode::kCaptureIsolation);
  CHECK_CODE(graph.capture_end(), StatusCode::kCaptureInvalidated);
  gate->open();
  CHECK_OK(synchronize(outside.ref));
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  CHECK_OK(Event(0).wait(stream.ref));  // never recorded
  CHECK_CODE(event.wait(stream.ref), StatusCode::kCaptureIsolation);
  CHECK_CODE(graph.capture_end(), StatusCode::kCaptureInvalidated);
}

TEST(work_queued_before_the_capture_still_runs) {
  OwnStream stream;
  auto gate = std::make_shared<Gate>();
  int before = 0, inside = 0;
  CHECK_OK(enqueue_gate(stream.ref, gate));
  CHECK_OK(enqueue(stream.ref, [&before] { ++before; }));
  Graph graph;
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  CHECK_OK(enqueue(stream.ref, [&inside] { ++inside; }));
  CHECK_OK(graph.capture_end());
  gate->open();
  CHECK_OK(synchronize(stream.ref));
  CHECK_EQ(before, 1);
  CHECK_EQ(inside, 0);
}

TEST(an_error_in_a_replay_names_the_work) {
  OwnStream stream;
  Graph graph;
  bool fails = true, reached = false;
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  CHECK_OK(enqueue(
      stream.ref,
      [&fails] {
        if (fails) throw std::runtime_error("oops");
      },
      Engine::kCompute, "captured_op"));
  CHECK_OK(enqueue(stream.ref, [&reached] { reached = true; }));
  CHECK_OK(graph.capture_end());
  CHECK_OK(graph.replay(stream.ref));
  CHECK_CONTAINS(synchronize(stream.ref).message, "captured_op: oops");
  CHECK(!reached);
  fails = false;
  CHECK_OK(graph.replay(stream.ref));
  CHECK_OK(synchronize(stream.ref));
  CHECK(reached);
}

TEST(reset_keeps_a_replay_in_flight_alive) {
  OwnStream stream;
  auto gate = std::make_shared<Gate>();
  auto held = std::make_shared<int>(0);
  Graph graph;
  CHECK_OK(graph.capture_begin(stream.ref, {5, 6}));
  CHECK(graph.pool() == (MempoolId{5, 6}));
  CHECK_OK(enqueue(stream.ref, [held] { ++*held; }));
  CHECK_OK(graph.capture_end());
  CHECK_OK(enqueue_gate(stream.ref, gate));
  CHECK_OK(graph.replay(stream.ref));
  graph.reset();
  gate->open();
  CHECK_OK(synchronize(stream.ref));
  CHECK_EQ(*held, 1);
  CHECK_EQ(held.use_count(), 1);
  CHECK_CODE(graph.replay(stream.ref), StatusCode::kCapture);
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  CHECK_OK(graph.capture_end());
}

TEST(a_graph_that_goes_away_ends_its_capture) {
  OwnStream stream;
  {
    Graph graph;
    CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  }
  CHECK(!is_capturing(stream.ref));
  CHECK(is_idle(stream.ref));
}

TEST(memory_that_a_capture_uses_returns_after_the_capture) {
  OwnStream stream;
  CachingAllocator& allocator = CachingAllocator::of(0);
  void *used = nullptr, *other = nullptr, *again = nullptr;
  CHECK_OK(allocator.allocate(3000, 0, &used));
  Graph graph;
  CHECK_OK(graph.capture_begin(stream.ref, {0, 0}));
  allocator.record_stream(used, stream.ref);
  allocator.free(used);
  CHECK_OK(allocator.allocate(3000, 0, &other));
  CHECK(other != used);
  CHECK_OK(graph.capture_end());
  CHECK_OK(allocator.allocate(3000, 0, &again));
  CHECK(again == used);
  allocator.free(other);
  allocator.free(again);
  CHECK_OK(allocator.empty_cache());
}
