// Note [Order in a region]: a step with barrier_before waits for all cores of the steps before it.
// Steps of one core run on thread 0, so between them program order is enough. A wait that is left
// out for that reason is owed: the next step of several cores must have it, even when that step
// itself depends on nothing.
#include "launch.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <string>

#include "options.h"
#include "properties.h"
#include "team_schedule.h"

namespace spyre::device {
namespace {

// Note [TSan and libgomp]: GCC's libgomp is not instrumented, so TSan would report everything that
// the fork and join of a region order. These two calls tell it; they are nothing in other builds.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
void happens_before(void* point) { __tsan_release(point); }
void happens_after(void* point) { __tsan_acquire(point); }
#else
void happens_before(void*) {}
void happens_after(void*) {}
#endif

// What the team needs of a step, gathered before the region so that threads only call.
struct Prepared {
  spyre_kernel_fn entry = nullptr;
  spyre_kernel_args args{};
  int cores = 1;
  bool waits = false;
  std::uint64_t cores_before = 0;  // of all earlier steps
};

struct Scratch {
  std::vector<Prepared> steps;
  std::vector<spyre_kernel_error> errors;
  std::vector<void*> buffers;
  std::vector<long long> scalars;
  TeamSchedule schedule;
};

// Set once by the first thread that sees a failure; the others stop calling kernels.
struct Failure {
  std::atomic<int> step{-1};
  std::string exception;  // written by the thread that set `step`, read after the region

  bool any() const { return step.load(std::memory_order_relaxed) >= 0; }
  bool claim(int index) {
    int none = -1;
    return step.compare_exchange_strong(none, index);
  }
};

void mark_waits(const std::vector<KernelStep>& steps, std::vector<Prepared>& prepared) {
  bool team_ran = false;  // a step of several cores that thread 0 has not waited for
  bool owed = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool team = prepared[i].cores > 1;
    const bool depends = i > 0 && steps[i].barrier_before;
    prepared[i].waits = team ? depends || owed : depends && team_ran;
    // Only thread 0 waits for a single-core step; the others owe it.
    owed = !team && (depends || owed);
    team_ran = team || (team_ran && !depends);
  }
}

void prepare(const std::vector<KernelStep>& steps, void* const* buffers,
             const std::int64_t* scalars, Scratch& scratch) {
  std::size_t buffer_count = 0, scalar_count = 0;
  for (const KernelStep& step : steps) {
    buffer_count += step.buffer_slots.size();
    scalar_count += step.scalar_slots.size();
  }
  scratch.steps.resize(steps.size());
  scratch.errors.assign(steps.size(), spyre_kernel_error{});
  scratch.buffers.resize(buffer_count + 1);  // + 1: data() of an empty vector may be null
  scratch.scalars.resize(scalar_count + 1);
  void** next_buffer = scratch.buffers.data();
  long long* next_scalar = scratch.scalars.data();
  std::uint64_t cores_before = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const KernelStep& step = steps[i];
    Prepared& out = scratch.steps[i];
    out.entry = step.entry;
    out.cores = std::clamp<int>(step.cores, 1, kCoresPerCard);
    out.cores_before = cores_before;
    cores_before += static_cast<std::uint64_t>(out.cores);
    out.args.buffers = next_buffer;
    for (std::int32_t slot : step.buffer_slots) *next_buffer++ = buffers[slot];
    out.args.scalars = next_scalar;
    for (std::int32_t slot : step.scalar_slots) *next_scalar++ = scalars[slot];
    out.args.workspace = step.workspace_slot < 0 ? nullptr : buffers[step.workspace_slot];
    out.args.error = &scratch.errors[i];
  }
}

// Cores [first, last) of one step. Nothing may leave: an exception in a region ends the process.
void run_slice(const Prepared& step, int index, int first, int last, Failure& failure) {
  try {
    for (int core = first; core < last; ++core) step.entry(&step.args, core, step.cores);
  } catch (const std::exception& error) {
    if (failure.claim(index)) failure.exception = error.what();
  } catch (...) {
    if (failure.claim(index)) failure.exception = "unknown C++ exception";
  }
  if (__atomic_load_n(&step.args.error->code, __ATOMIC_RELAXED) != 0) failure.claim(index);
}

void run_serial(const Scratch& scratch, Failure& failure) {
  const int count = static_cast<int>(scratch.steps.size());
  for (int i = 0; i < count && !failure.any(); ++i) {
    const Prepared& step = scratch.steps[static_cast<std::size_t>(i)];
    run_slice(step, i, 0, step.cores, failure);
  }
}

// What one thread does of a team step; gives the number of cores it took.
int run_claimed(const Prepared& step, int index, int thread, int threads, TeamSchedule& schedule,
                Failure& failure) {
  int taken = 0, first = 0, last = 0;
  for (int turn = 0; turn < threads; ++turn) {
    const int owner = (thread + turn) % threads;
    while (schedule.claim(index, step.cores, owner, threads, &first, &last)) {
      if (!failure.any()) run_slice(step, index, first, last, failure);
      taken += last - first;
    }
  }
  return taken;
}

void run_team_thread(Scratch& scratch, int thread, int threads, Failure& failure) {
  TeamSchedule& schedule = scratch.schedule;
  happens_after(&schedule);
  const int count = static_cast<int>(scratch.steps.size());
  for (int i = 0; i < count; ++i) {
    const Prepared& step = scratch.steps[static_cast<std::size_t>(i)];
    if (step.cores == 1 && thread != 0) continue;
    if (step.waits) schedule.wait_finished(step.cores_before);
    if (step.cores > 1) {
      const int taken = run_claimed(step, i, thread, threads, schedule, failure);
      if (taken > 0) schedule.finish(taken);
    } else {
      if (!failure.any()) run_slice(step, i, 0, 1, failure);
      schedule.finish(1);
    }
  }
  happens_before(&schedule);
}

Status fault(const KernelStep& step, const spyre_kernel_error& error, const Failure& failure) {
  if (error.code == 0) {
    return Status::error(StatusCode::kExternal, "kernel '" + step.name + "': " + failure.exception);
  }
  const auto check = static_cast<std::size_t>(error.check);
  const std::string text = error.check >= 0 && check < step.checks.size()
                               ? step.checks[check]
                               : "check " + std::to_string(error.check);
  std::string message = "kernel '" + step.name + "' failed: " + text;
  if (error.code == 1) {
    message += ": index " + std::to_string(error.value) + " is out of bounds [" +
               std::to_string(error.lower) + ", " + std::to_string(error.upper) + ")";
  } else {
    message += ": device assertion failed (value " + std::to_string(error.value) + ")";
  }
  return Status::error(StatusCode::kKernelFault, std::move(message));
}

}  // namespace

Status run_steps(const std::vector<KernelStep>& steps, void* const* buffers,
                 const std::int64_t* scalars, bool parallel) {
  // Per thread and kept: a plan runs thousands of times. Kernels do not launch kernels.
  thread_local Scratch scratch;
  prepare(steps, buffers, scalars, scratch);
  Failure failure;
  const int threads = omp_get_max_threads();  // of the calling thread, as ATen's regions here
  const bool team = parallel && threads > 1 &&
                    std::any_of(steps.begin(), steps.end(),
                                [](const KernelStep& step) { return step.cores > 1; });
  if (!team) {
    run_serial(scratch, failure);
  } else {
    mark_waits(steps, scratch.steps);
    Scratch& shared = scratch;  // the caller's, not each team thread's own
    shared.schedule.reset(threads);
    happens_before(&shared.schedule);
#pragma omp parallel
    run_team_thread(shared, omp_get_thread_num(), omp_get_num_threads(), failure);
    happens_after(&shared.schedule);
  }
  const int failed = failure.step.load();
  if (failed < 0) return Status::ok();
  const auto index = static_cast<std::size_t>(failed);
  return fault(steps[index], scratch.errors[index], failure);
}

int team_size() {
  const int chosen = options().num_threads;
  return chosen > 0 ? chosen : omp_get_num_procs();
}

}  // namespace spyre::device
