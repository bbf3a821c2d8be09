// How a failure travels: kept in the stream, passed on by events, raised once, then all is well.
#include <stdexcept>
#include <thread>

#include "check.h"
#include "device/event.h"
#include "gate.h"

using namespace spyre::device;

namespace {

Status enqueue_throwing(StreamRef stream, const char* what) {
  return enqueue(stream, [what] { throw std::runtime_error(what); }, Engine::kCompute, "bad_op");
}

struct OwnStream {
  explicit OwnStream(int device = 0) : ref(create_stream(device, 0)) {}
  ~OwnStream() { (void)destroy_stream(ref); }
  StreamRef ref;
};

}  // namespace

TEST(an_exception_is_raised_at_synchronize_and_names_the_work) {
  OwnStream stream;
  CHECK_OK(enqueue_throwing(stream.ref, "no such thing"));
  const Status status = synchronize(stream.ref);
  CHECK_CODE(status, StatusCode::kExternal);
  CHECK_CONTAINS(status.message, "bad_op: no such thing");
  CHECK_OK(synchronize(stream.ref));
}

TEST(an_unknown_exception_is_an_error_too) {
  OwnStream stream;
  CHECK_OK(enqueue(stream.ref, [] { throw 42; }, Engine::kDma, "thrower"));
  CHECK_CONTAINS(synchronize(stream.ref).message, "thrower: unknown C++ exception");
}

TEST(a_returned_status_keeps_its_code) {
  OwnStream stream;
  CHECK_OK(enqueue(stream.ref, [] { return Status::error(StatusCode::kKernelFault, "index 9"); }));
  const Status status = synchronize(stream.ref);
  CHECK_CODE(status, StatusCode::kKernelFault);
  CHECK_EQ(status.message, "test_work: index 9");
}

TEST(work_behind_an_error_is_skipped_and_the_first_error_is_kept) {
  OwnStream stream;
  auto gate = std::make_shared<Gate>();
  bool ran = false;
  CHECK_OK(enqueue_gate(stream.ref, gate));
  CHECK_OK(enqueue_throwing(stream.ref, "first"));
  CHECK_OK(enqueue_throwing(stream.ref, "second"));
  CHECK_OK(enqueue(stream.ref, [&ran] { ran = true; }));
  gate->open();
  CHECK_CONTAINS(synchronize(stream.ref).message, "first");
  CHECK(!ran);
  CHECK_OK(enqueue(stream.ref, [&ran] { ran = true; }));
  CHECK_OK(synchronize(stream.ref));
  CHECK(ran);
}

TEST(enqueue_and_may_run_inline_raise_the_error_once) {
  OwnStream stream;
  CHECK_OK(enqueue_throwing(stream.ref, "one"));
  while (!query(stream.ref)) std::this_thread::yield();
  bool ran = false;
  CHECK_CONTAINS(enqueue(stream.ref, [&ran] { ran = true; }).message, "one");
  CHECK_OK(synchronize(stream.ref));
  CHECK(!ran);
  CHECK_OK(enqueue_throwing(stream.ref, "two"));
  while (!query(stream.ref)) std::this_thread::yield();
  CHECK(!is_idle(stream.ref));
  bool inline_ok = true;
  CHECK_CONTAINS(may_run_inline(stream.ref, &inline_ok).message, "two");
  CHECK(!inline_ok);
  CHECK_OK(may_run_inline(stream.ref, &inline_ok));
  CHECK(inline_ok);
}

TEST(work_queued_before_the_error_was_raised_stays_skipped) {
  // The destructor of skipped work holds the stream between the error and the work behind it.
  struct Holder {
    Gate entered, gate;
    ~Holder() {
      entered.open();
      gate.pass();
    }
  };
  OwnStream stream;
  auto start = std::make_shared<Gate>();
  auto holder = std::make_shared<Holder>();
  Gate& entered = holder->entered;
  Gate& gate = holder->gate;
  bool ran_before = false, ran_after = false;
  CHECK_OK(enqueue_gate(stream.ref, start));
  CHECK_OK(enqueue_throwing(stream.ref, "late"));
  CHECK_OK(enqueue(stream.ref, [holder] { (void)holder; }));
  CHECK_OK(enqueue(stream.ref, [&ran_before] { ran_before = true; }));
  holder.reset();
  start->open();
  entered.pass();
  CHECK_CONTAINS(enqueue(stream.ref, [] {}).message, "late");
  CHECK_OK(enqueue(stream.ref, [&ran_after] { ran_after = true; }));
  gate.open();
  CHECK_OK(synchronize(stream.ref));
  CHECK(!ran_before);
  CHECK(ran_after);
}

TEST(an_error_passes_through_events_to_other_cards) {
  OwnStream source, target(1);
  Event event(0);
  bool ran = false;
  auto gate = std::make_shared<Gate>();
  CHECK_OK(enqueue_gate(source.ref, gate));
  CHECK_OK(enqueue_throwing(source.ref, "broken input"));
  CHECK_OK(event.record(source.ref));
  CHECK_OK(event.wait(target.ref));
  CHECK_OK(enqueue(target.ref, [&ran] { ran = true; }));
  gate->open();
  CHECK_CONTAINS(synchronize(target.ref).message, "bad_op: broken input");
  CHECK(!ran);
  CHECK_CONTAINS(event.synchronize().message, "broken input");
  CHECK_OK(synchronize(source.ref));  // event.synchronize() raised it
  CHECK_OK(enqueue(target.ref, [&ran] { ran = true; }));
  CHECK_OK(synchronize(target.ref));
  CHECK(ran);
}

TEST(a_late_wait_for_a_failed_event_fails_too) {
  OwnStream source, target;
  Event event(0);
  CHECK_OK(enqueue_throwing(source.ref, "old"));
  CHECK_OK(event.record(source.ref));
  CHECK_CODE(synchronize(source.ref), StatusCode::kExternal);
  CHECK_OK(event.wait(target.ref));
  CHECK_CONTAINS(synchronize(target.ref).message, "old");
  CHECK_OK(event.record(source.ref));  // a new value without the error
  CHECK_OK(event.wait(target.ref));
  CHECK_OK(synchronize(target.ref));
}

TEST(device_synchronize_raises_and_clears_every_stream) {
  OwnStream a, b;
  CHECK_OK(enqueue_throwing(a.ref, "in a"));
  CHECK_OK(enqueue_throwing(b.ref, "in b"));
  CHECK_CODE(synchronize_device(0), StatusCode::kExternal);
  CHECK_OK(synchronize_device(0));
  CHECK_OK(synchronize(a.ref));
  CHECK_OK(synchronize(b.ref));
}
