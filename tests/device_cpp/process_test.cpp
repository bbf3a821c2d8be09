// What needs a process of its own: fork, exit with work in flight, blocking launches, poison.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "check.h"
#include "child.h"
#include "device/allocator.h"
#include "device/engine_start.h"
#include "device/event.h"
#include "device/pinned.h"
#include "device/properties.h"
#include "gate.h"

using namespace spyre::device;

namespace {

constexpr const char* kForkMessage =
    "Cannot re-initialize Spyre in forked subprocess. To use Spyre with multiprocessing, you must "
    "use the 'spawn' start method";

// Exit status 0 when every entry refuses in the child of the fork.
int use_device_after_fork(void* address) {
  if (!in_bad_fork()) return 10;
  const StreamRef stream{0, kDefaultStream};
  bool inline_ok = true;
  void* out = nullptr;
  Event event(0);
  const Status refused[] = {synchronize(stream),
                            synchronize_device(0),
                            enqueue(stream, [] {}),
                            may_run_inline(stream, &inline_ok),
                            CachingAllocator::of(0).allocate(64, 0, &out),
                            CachingAllocator::of(0).empty_cache(),
                            pinned_allocate(64, &out),
                            event.record(stream),
                            event.wait(stream),
                            event.synchronize()};
  for (const Status& status : refused) {
    if (status.code != StatusCode::kForked || status.message != kForkMessage) return 11;
  }
  if (inline_ok || is_stream(create_stream(0, 0))) return 12;
  CachingAllocator::of(0).free(address);  // of inherited tensors: must neither hang nor crash
  return std::memcmp(address, "spyre", 6) == 0 ? 0 : 13;
}

}  // namespace

CHILD(fork_after_use) {
  void* address = nullptr;
  CHECK_OK(CachingAllocator::of(0).allocate(64, 0, &address));
  std::memcpy(address, "spyre", 6);
  CHECK_OK(enqueue({0, kDefaultStream}, [] {}));
  CHECK_OK(synchronize({0, kDefaultStream}));
  const pid_t pid = fork();
  if (pid == 0) std::exit(use_device_after_fork(address));  // exit handlers must not hang either
  int status = 0;
  waitpid(pid, &status, 0);
  if (in_bad_fork()) return 14;
  CHECK_OK(enqueue({0, kDefaultStream}, [] {}));
  CHECK_OK(synchronize({0, kDefaultStream}));
  return WIFEXITED(status) ? WEXITSTATUS(status) + check::failures() : 15;
}

TEST(the_child_of_a_fork_gets_cudas_message) {
  // The leak checker cannot see the stacks of the parent's threads in the child.
  const child::Result result = child::run("fork_after_use", {"ASAN_OPTIONS=detect_leaks=0"});
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}

CHILD(fork_before_use) {
  if (device_count() != 2) return 10;
  const pid_t pid = fork();
  if (pid == 0) {
    if (in_bad_fork()) _exit(11);
    if (!enqueue({0, kDefaultStream}, [] {}).is_ok()) _exit(12);
    _exit(synchronize({0, kDefaultStream}).is_ok() ? 0 : 13);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 15;
}

TEST(a_fork_before_first_use_is_fine) { CHECK_EQ(child::run("fork_before_use").status, 0); }

CHILD(exit_with_work_in_flight) {
  for (int i = 0; i < 200; ++i) {
    CHECK_OK(enqueue({0, kDefaultStream},
                     [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }));
    CHECK_OK(enqueue({1, kDefaultStream}, [] {}, Engine::kDma));
  }
  return check::failures();
}

TEST(exit_abandons_queued_work_and_neither_hangs_nor_crashes) {
  const auto start = std::chrono::steady_clock::now();
  const child::Result result = child::run("exit_with_work_in_flight");
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
  // Running all of it would take 6 s.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(4));
}

CHILD(exit_while_a_thread_waits) {
  CHECK_OK(enqueue({0, kDefaultStream},
                   [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }));
  std::thread([] { (void)synchronize({0, kDefaultStream}); }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return check::failures();
}

TEST(exit_while_another_thread_waits_is_clean) {
  const child::Result result = child::run("exit_while_a_thread_waits");
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}

CHILD(use_in_a_late_destructor) {
  // Constructed before the engines start, so destroyed after they stopped, as a global tensor is.
  static struct Late {
    ~Late() {
      void* address = nullptr;
      const bool refused = !enqueue({0, kDefaultStream}, [] {}).is_ok();
      const bool allocates = CachingAllocator::of(0).allocate(64, 0, &address).is_ok();
      CachingAllocator::of(0).free(address);
      (void)CachingAllocator::of(0).empty_cache();
      (void)synchronize_device(0);
      if (!refused || !allocates) _exit(20);
    }
  } late;
  (void)&late;
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(enqueue({0, kDefaultStream},
                     [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }));
  }
  return check::failures();
}

TEST(late_destructors_find_a_stopped_but_valid_device) {
  const child::Result result = child::run("use_in_a_late_destructor");
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}

namespace {
std::atomic<int> engines_started{0};
}

CHILD(engine_start_hook) {
  set_engine_start_hook([] { ++engines_started; });
  for (int i = 0; i < 3; ++i) {
    CHECK_OK(enqueue({0, kDefaultStream}, [] {}));
    CHECK_OK(enqueue({0, kDefaultStream}, [] {}, Engine::kDma));
  }
  CHECK_OK(synchronize({0, kDefaultStream}));
  CHECK_EQ(engines_started.load(), 2);
  return check::failures();
}

TEST(the_start_hook_runs_once_on_each_engine) {
  const child::Result result = child::run("engine_start_hook");
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}

CHILD(launch_blocking) {
  bool ran = false;
  CHECK_OK(enqueue({0, kDefaultStream}, [&ran] { ran = true; }));
  CHECK(ran);
  const Status status = enqueue({0, kDefaultStream}, [] { throw std::runtime_error("now"); });
  CHECK_CONTAINS(status.message, "test_work: now");
  CHECK_OK(enqueue({0, kDefaultStream}, [] {}));
  return check::failures();
}

TEST(launch_blocking_makes_each_enqueue_wait_and_report) {
  const child::Result result = child::run("launch_blocking", {"SPYRE_LAUNCH_BLOCKING=1"});
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}

CHILD(poison) {
  CachingAllocator& allocator = CachingAllocator::of(0);
  const StreamRef stream{0, kDefaultStream};
  void* address = nullptr;
  CHECK_OK(allocator.allocate(256, 0, &address));
  std::memset(address, 1, 256);
  allocator.free(address);  // idle stream: at once
  CHECK_EQ(static_cast<unsigned char*>(address)[255], 0xcb);

  CHECK_OK(allocator.allocate(256, 0, &address));
  std::memset(address, 1, 256);
  auto gate = std::make_shared<Gate>();
  int seen = 0;
  CHECK_OK(enqueue_gate(stream, gate));
  CHECK_OK(enqueue(stream, [&seen, address] { seen = static_cast<unsigned char*>(address)[9]; }));
  allocator.free(address);  // queued work may still read it
  gate->open();
  CHECK_OK(synchronize(stream));
  CHECK_EQ(seen, 1);
  CHECK_EQ(static_cast<unsigned char*>(address)[9], 0xcb);
  return check::failures();
}

TEST(freed_memory_is_poisoned_in_stream_order) {
  const child::Result result = child::run("poison", {"SPYRE_POISON_FREED_MEMORY=1"});
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}

CHILD(out_of_card_memory) {
  CachingAllocator& allocator = CachingAllocator::of(0);
  void *a = nullptr, *b = nullptr, *c = nullptr;
  CHECK_OK(allocator.allocate(40 << 20, 0, &a));
  CHECK_OK(allocator.allocate(20 << 20, 0, &b));
  const Status status = allocator.allocate(10 << 20, 0, &c);
  CHECK_CODE(status, StatusCode::kOutOfMemory);
  CHECK_CONTAINS(status.message, "Spyre out of memory. Tried to allocate 10.00 MiB. Card 0 has a ");
  CHECK_CONTAINS(status.message, "total capacity of 64.00 MiB of which 4.00 MiB is free");
  CHECK_CONTAINS(status.message, "60.00 MiB is allocated by PyTorch");
  CHECK(c == nullptr);
  // A cached segment of the wrong shape is given back to serve the request.
  allocator.free(b);
  CHECK_OK(allocator.allocate(24 << 20, 0, &c));
  CHECK_EQ(allocator.stats().num_ooms, 1);
  CHECK(allocator.stats().num_device_free >= 1);
  // Memory that only another stream still holds is waited for.
  const StreamRef other = stream_from_pool(0, 0);
  CHECK_OK(enqueue(other, [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }));
  allocator.record_stream(a, other);
  allocator.free(a);
  CHECK_OK(allocator.allocate(38 << 20, 0, &a));
  allocator.free(a);
  allocator.free(c);
  CHECK_OK(allocator.empty_cache());  // the limit is on new segments
  CHECK_OK(allocator.set_memory_fraction(0.25));
  CHECK_CODE(allocator.allocate(20 << 20, 0, &a), StatusCode::kOutOfMemory);
  CHECK_CODE(allocator.set_memory_fraction(1.5), StatusCode::kInvalidArgument);
  return check::failures();
}

TEST(the_capacity_of_a_card_is_enforced_with_cudas_text) {
  const child::Result result = child::run("out_of_card_memory", {"SPYRE_MEMORY_BYTES=64M"});
  CHECK_EQ(result.status, 0);
  CHECK_EQ(result.output, "");
}
