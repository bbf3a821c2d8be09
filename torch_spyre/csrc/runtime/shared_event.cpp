#include "runtime/shared_event.h"

#include <c10/util/Exception.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "device/host_gate.h"
#include "runtime/current.h"
#include "runtime/stream.h"

namespace spyre::runtime {

// In the segment. 32 bits wide because the kernel's futex is; compared as a distance, so that the
// counters may wrap.
struct SharedEvent::Counters {
  std::atomic<std::uint32_t> recorded;
  std::atomic<std::uint32_t> reached;  // also the futex word
  std::atomic<std::int32_t> recorder;  // process of the last record
};

namespace {

constexpr std::size_t kEventBytes = 128;
constexpr long kAliveCheckNs = 200'000'000;  // how soon a waiter notices that the recorder died

bool is_reached(const std::atomic<std::uint32_t>& reached, std::uint32_t number) {
  return static_cast<std::int32_t>(reached.load(std::memory_order_acquire) - number) >= 0;
}

void mark_reached(std::atomic<std::uint32_t>& reached, std::uint32_t number) {
  std::uint32_t seen = reached.load(std::memory_order_relaxed);
  while (static_cast<std::int32_t>(seen - number) < 0 &&
         !reached.compare_exchange_weak(seen, number, std::memory_order_release)) {
  }
  ::syscall(SYS_futex, &reached, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// False for a process that has ended, reaped or not (a zombie still takes signals).
bool is_alive(std::int32_t process_id) {
  std::ifstream file("/proc/" + std::to_string(process_id) + "/stat");
  std::string line;
  if (!std::getline(file, line)) {
    return false;
  }
  const std::size_t name_end = line.rfind(')');  // "pid (name) state ..."; the name may hold spaces
  const char state = name_end + 2 < line.size() ? line[name_end + 2] : 'X';
  return state != 'Z' && state != 'X';
}

device::Status wait_until_reached(std::atomic<std::uint32_t>& reached, std::uint32_t number,
                                  std::int32_t recorder) {
  const timespec interval{0, kAliveCheckNs};
  for (;;) {
    const std::uint32_t seen = reached.load(std::memory_order_acquire);
    if (is_reached(reached, number)) {
      return device::Status::ok();
    }
    ::syscall(SYS_futex, &reached, FUTEX_WAIT, seen, &interval, nullptr, 0);
    if (!is_alive(recorder) && !is_reached(reached, number)) {
      return device::Status::error(device::StatusCode::kExternal,
                                   "interprocess event: process " + std::to_string(recorder) +
                                       " recorded it and ended before its work did");
    }
  }
}

}  // namespace

SharedEvent::SharedEvent() : segment_(SharedSegment::create(kEventBytes)) {}

SharedEvent::SharedEvent(const SharedHandle& handle)
    : segment_(SharedSegment::open(handle, "The spyre event")) {
  TORCH_CHECK_VALUE(handle.nbytes == kEventBytes, "the handle does not name a spyre event");
}

SharedEvent::Counters& SharedEvent::counters() const {
  return *static_cast<Counters*>(segment_->data());
}

void SharedEvent::record(device::StreamRef stream) const {
  initialize();
  Counters& shared = counters();
  shared.recorder.store(::getpid(), std::memory_order_relaxed);
  const std::uint32_t number = shared.recorded.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (may_run_inline(stream)) {
    mark_reached(shared.reached, number);
    return;
  }
  enqueue_dma(stream, "record interprocess event",
              [segment = segment_, &shared, number] { mark_reached(shared.reached, number); });
}

void SharedEvent::wait(device::StreamRef stream) const {
  initialize();
  Counters& shared = counters();
  const std::uint32_t number = shared.recorded.load(std::memory_order_acquire);
  if (is_reached(shared.reached, number)) {
    return;
  }
  const std::int32_t recorder = shared.recorder.load(std::memory_order_relaxed);
  const device::HostGate gate;
  check(gate.wait(stream));
  // A thread for each pending wait: they are few, and an engine must not stand still for one.
  std::thread([segment = segment_, &shared, number, recorder, gate] {
    gate.open(wait_until_reached(shared.reached, number, recorder));
  }).detach();
}

bool SharedEvent::query() const {
  return is_reached(counters().reached, counters().recorded.load(std::memory_order_acquire));
}

void SharedEvent::synchronize() const {
  Counters& shared = counters();
  check(wait_until_reached(shared.reached, shared.recorded.load(std::memory_order_acquire),
                           shared.recorder.load(std::memory_order_relaxed)));
}

}  // namespace spyre::runtime
