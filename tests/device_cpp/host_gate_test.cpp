#include "device/host_gate.h"

#include "check.h"
#include "device/event.h"
#include "gate.h"

using namespace spyre::device;

TEST(streams_of_two_cards_wait_until_the_host_opens_the_gate) {
  const StreamRef a = create_stream(0, 0), b = create_stream(1, 0), free = create_stream(0, 0);
  const HostGate gate;
  std::atomic<int> ran{0};
  for (const StreamRef stream : {a, b}) {
    CHECK_OK(gate.wait(stream));
    CHECK_OK(enqueue(stream, [&ran] { ++ran; }));
  }
  CHECK_OK(enqueue(free, [] {}));
  CHECK_OK(synchronize(free));  // no engine stands still for the gate
  CHECK_EQ(ran.load(), 0);
  gate.open(Status::ok());
  gate.open(Status::error(StatusCode::kExternal, "too late"));
  CHECK_OK(synchronize(a));
  CHECK_OK(synchronize(b));
  CHECK_EQ(ran.load(), 2);
  CHECK_OK(gate.wait(a));  // open for good
  CHECK(is_idle(a));
  for (const StreamRef stream : {a, b, free}) CHECK_OK(destroy_stream(stream));
}

TEST(an_error_of_the_host_reaches_the_waiting_stream) {
  const StreamRef stream = create_stream(0, 0);
  const HostGate gate;
  int ran = 0;
  CHECK_OK(gate.wait(stream));
  CHECK_OK(enqueue(stream, [&ran] { ran = 1; }));
  gate.open(Status::error(StatusCode::kExternal, "the sender has ended"));
  const Status status = synchronize(stream);
  CHECK(status.code == StatusCode::kExternal);
  CHECK(status.message.find("the sender has ended") != std::string::npos);
  CHECK_EQ(ran, 0);
  CHECK_OK(enqueue(stream, [&ran] { ran = 2; }));
  CHECK_OK(synchronize(stream));
  CHECK_EQ(ran, 2);
  CHECK_OK(destroy_stream(stream));
}
