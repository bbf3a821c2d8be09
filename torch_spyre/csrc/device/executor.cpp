#include "executor.h"

#include <cxxabi.h>
#include <omp.h>
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "activity.h"
#include "engine_start.h"
#include "fork_guard.h"
#include "futex.h"
#include "options.h"
#include "signals_blocked.h"
#include "stream_queue.h"

namespace spyre::device {
namespace {

// Note [Exit with work in flight]: at exit queued work is abandoned, as on CUDA, and leaked, since
// its destructors may need a Python interpreter that is gone. What already runs gets this long to
// finish, because it uses code and data that static destructors are about to take away. The
// handler is registered when the first engine starts, after the libraries that work uses were
// loaded, so it runs before their destructors.
constexpr auto kExitGrace = std::chrono::seconds(5);

std::atomic<bool> stopped{false};
std::atomic<int> running_engines{0};
std::once_flag exit_once;

std::atomic<void (*)()> start_hook{nullptr};

thread_local bool is_engine = false;
thread_local StreamState* current = nullptr;
thread_local std::uint64_t current_correlation = 0;

void stop_engines() {
  if (stopped.exchange(true) || is_engine || forked_after_use()) return;
  const auto deadline = std::chrono::steady_clock::now() + kExitGrace;
  for (int device = 0; device < card_count(); ++device) {
    Card& card = *find_card(device);
    std::lock_guard lock(card.mutex);  // an engine that took work before counts as running now
    for (EngineQueue& queue : card.engines) {
      queue.signal.fetch_add(1, std::memory_order_release);
      futex_wake(queue.signal);
    }
    card.room.fetch_add(1, std::memory_order_release);
    futex_wake(card.room);
  }
  while (running_engines.load(std::memory_order_acquire) > 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

Status named(const Work& work, Status status) {
  if (status.is_ok() || status.message.find(work.name()) != std::string::npos) return status;
  return Status::error(status.code, work.name() + ": " + status.message);
}

Status run_guarded(Work& work) {
  try {
    return named(work, work.run());
  } catch (const std::exception& error) {
    return named(work, Status::error(StatusCode::kExternal, error.what()));
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_exit(), by Python once it finalises: swallowing it ends the process
  } catch (...) {
    return named(work, Status::error(StatusCode::kExternal, "unknown C++ exception"));
  }
}

// Runs and destroys the item's work: what it holds is free before anyone learns that it finished.
Status run_item(StreamState& stream, Item& item, Engine engine) {
  current_correlation = item.correlation;
  const bool report = item.correlation != 0 && activity_enabled() && !item.work->reports_itself();
  Activity activity;
  if (report) {
    activity.name = item.work->name();
    activity.stream = {stream.card->device, stream.id.load(std::memory_order_relaxed)};
    activity.engine = engine;
    activity.correlation = item.correlation;
    activity.enqueued_ns = item.enqueued_ns;
    activity.started_ns = now_ns();
  }
  Status status = run_guarded(*item.work);
  if (report) {
    activity.finished_ns = now_ns();
    report_activity(activity);
  }
  return status;
}

// Next ready stream, after a short spin and then sleep. Null when the process exits.
StreamState* next_stream(EngineQueue& queue, std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (engines_stopped()) return nullptr;
    if (StreamState* stream = pop_ready(queue)) return stream;
    lock.unlock();
    const bool found = queue.idle_spin.spin(
        [&queue] { return queue.ready_count.load(std::memory_order_acquire) > 0; });
    lock.lock();
    if (found || queue.ready_count.load(std::memory_order_relaxed) > 0 || engines_stopped())
      continue;
    queue.sleeping = true;
    const std::uint32_t seen = queue.signal.load(std::memory_order_relaxed);
    lock.unlock();
    futex_wait(queue.signal, seen);
    lock.lock();
    queue.sleeping = false;
  }
}

void engine_main(Card& card, Engine engine) {
  is_engine = true;
  const std::string name =
      "spyre" + std::to_string(card.device) + (engine == Engine::kCompute ? "-compute" : "-dma");
  pthread_setname_np(pthread_self(), name.c_str());
  // Eager operators' own regions: an OpenMP team that changes its size is made anew.
  if (auto hook = start_hook.load(std::memory_order_acquire)) hook();
  const int threads = engine == Engine::kCompute ? options().num_threads : 1;
  if (threads > 0) omp_set_num_threads(threads);

  EngineQueue& queue = card.engines[static_cast<int>(engine)];
  std::unique_lock lock(card.mutex);
  while (StreamState* stream = next_stream(queue, lock)) {
    Item item = std::move(stream->queue.front());
    stream->queue.pop_front();
    const std::uint64_t position = stream->completed.load(std::memory_order_relaxed) + 1;
    const bool skip = stream->error_at(position) != nullptr;
    running_engines.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();

    current = stream;
    const std::int64_t started_ns = now_ns();
    queue.busy_since_ns.store(started_ns, std::memory_order_relaxed);
    Status status = skip ? Status::ok() : run_item(*stream, item, engine);
    queue.busy_ns.fetch_add(now_ns() - started_ns, std::memory_order_relaxed);
    queue.busy_since_ns.store(0, std::memory_order_relaxed);
    item.work.reset();
    current = nullptr;

    Aftermath after;
    lock.lock();
    running_engines.fetch_sub(1, std::memory_order_release);
    if (!status.is_ok()) set_error(*stream, std::make_shared<const Status>(std::move(status)));
    complete_item(*stream, after);
    advance(*stream, after);
    if (!after.empty()) {
      lock.unlock();
      deliver(card, after);
      lock.lock();
    }
  }
}

}  // namespace

Status start_engine(Card& card, Engine engine) {
  EngineQueue& queue = card.engines[static_cast<int>(engine)];
  if (queue.started.load(std::memory_order_acquire)) return Status::ok();
  std::call_once(exit_once, [] { std::atexit(stop_engines); });
  std::lock_guard lock(card.mutex);
  if (queue.started.load(std::memory_order_relaxed)) return Status::ok();
  try {
    const SignalsBlocked inherited_by_the_thread;
    std::thread([&card, engine] { engine_main(card, engine); }).detach();
  } catch (const std::exception& error) {
    return Status::error(StatusCode::kExternal,
                         std::string("cannot start a Spyre engine thread: ") + error.what());
  }
  queue.started.store(true, std::memory_order_release);
  return Status::ok();
}

void set_engine_start_hook(void (*hook)()) { start_hook.store(hook, std::memory_order_release); }

bool on_engine_thread() { return is_engine; }
StreamState* running_stream() { return current; }
std::uint64_t running_correlation() { return current_correlation; }
bool engines_stopped() { return stopped.load(std::memory_order_relaxed); }

}  // namespace spyre::device
