#include "runtime/activity_log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace spyre::runtime {

namespace {

// One per thread that reports, so that reporters do not wait for each other.
struct Buffer {
  std::mutex mutex;  // reporter against stop_activity_log()
  ActivityRecords records;
};

struct Buffers {
  std::mutex mutex;
  std::vector<std::shared_ptr<Buffer>> all;  // outlive their threads
};

Buffers& buffers() {
  static auto* list = new Buffers();  // leaked: engine threads report until the process ends
  return *list;
}

std::atomic<std::uint64_t> g_recording{0};  // number of the current or last recording

struct ThreadState {
  std::uint64_t recording = 0;  // the one that the stacks belong to
  std::vector<std::uint64_t> operators, ranges;
  std::shared_ptr<Buffer> buffer;
  std::int32_t thread_id = 0;
};

// Empties the stacks when a new recording began: its predecessor may have ended inside an operator.
ThreadState& thread_state() {
  thread_local ThreadState state;
  const std::uint64_t recording = g_recording.load(std::memory_order_relaxed);
  if (state.recording != recording) {
    state.recording = recording;
    state.operators.clear();
    state.ranges.clear();
  }
  return state;
}

Buffer& thread_buffer(ThreadState& state) {
  if (state.buffer == nullptr) {
    state.buffer = std::make_shared<Buffer>();
    state.thread_id = static_cast<std::int32_t>(::syscall(SYS_gettid));
    std::lock_guard lock(buffers().mutex);
    buffers().all.push_back(state.buffer);
  }
  return *state.buffer;
}

std::uint64_t innermost(const std::vector<std::uint64_t>& stack) {
  return stack.empty() ? 0 : stack.back();
}

void leave(std::vector<std::uint64_t>& stack) {
  if (!stack.empty()) {
    stack.pop_back();
  }
}

void on_launch(const device::Launch& launch) {
  ThreadState& state = thread_state();
  Buffer& buffer = thread_buffer(state);
  LaunchRecord record{
      launch.correlation, innermost(state.operators), innermost(state.ranges), state.thread_id,
      launch.engine,      launch.inline_run,          launch.begin_ns,         launch.end_ns};
  std::lock_guard lock(buffer.mutex);
  buffer.records.launches.push_back(record);
}

void on_run(const device::Activity& run) {
  Buffer& buffer = thread_buffer(thread_state());
  std::lock_guard lock(buffer.mutex);
  buffer.records.runs.push_back(run);
}

template <class T>
void append(std::vector<T>* to, std::vector<T>&& from) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

ActivityRecords take_all() {
  std::vector<std::shared_ptr<Buffer>> all;
  {
    std::lock_guard lock(buffers().mutex);
    all = buffers().all;
    // A buffer that only the list holds belongs to a thread that has ended.
    std::erase_if(buffers().all, [](const auto& buffer) { return buffer.use_count() == 2; });
  }
  ActivityRecords out;
  for (const auto& buffer : all) {
    ActivityRecords records;
    {
      std::lock_guard lock(buffer->mutex);
      records = std::exchange(buffer->records, {});
    }
    append(&out.runs, std::move(records.runs));
    append(&out.launches, std::move(records.launches));
    out.range_parents.merge(records.range_parents);
  }
  return out;
}

}  // namespace

void start_activity_log() {
  take_all();
  g_recording.fetch_add(1, std::memory_order_relaxed);
  device::set_activity_sink(on_run, on_launch);
}

ActivityRecords stop_activity_log() {
  device::set_activity_sink(nullptr, nullptr);
  return take_all();
}

void enter_operator(std::uint64_t id) { thread_state().operators.push_back(id); }
void leave_operator() { leave(thread_state().operators); }

void enter_range(std::uint64_t id) {
  ThreadState& state = thread_state();
  const std::uint64_t parent = innermost(state.ranges);
  state.ranges.push_back(id);
  if (parent != 0) {
    Buffer& buffer = thread_buffer(state);
    std::lock_guard lock(buffer.mutex);
    buffer.records.range_parents.emplace(id, parent);
  }
}
void leave_range() { leave(thread_state().ranges); }

}  // namespace spyre::runtime
