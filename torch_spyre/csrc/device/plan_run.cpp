#include "plan_run.h"

#include <algorithm>
#include <exception>

#include "properties.h"

namespace spyre::device {

void PlanRun::prepare(const std::vector<KernelStep>& steps, void* const* buffers,
                      const std::int64_t* scalars, int threads) {
  std::size_t buffer_count = 0, scalar_count = 0;
  for (const KernelStep& step : steps) {
    buffer_count += step.buffer_slots.size();
    scalar_count += step.scalar_slots.size();
  }
  steps_.resize(steps.size());
  errors_.assign(steps.size(), spyre_kernel_error{});
  finished_.assign(steps.size(), 0);
  buffers_.resize(buffer_count + 1);  // + 1: data() of an empty vector may be null
  scalars_.resize(scalar_count + 1);
  void** next_buffer = buffers_.data();
  long long* next_scalar = scalars_.data();
  std::uint64_t cores = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const KernelStep& step = steps[i];
    Step& out = steps_[i];
    out.entry = step.entry;
    out.cores = std::clamp<int>(step.cores, 1, kCoresPerCard);
    out.waits = false;
    out.cores_before = cores;
    cores += static_cast<std::uint64_t>(out.cores);
    out.args.buffers = next_buffer;
    for (std::int32_t slot : step.buffer_slots) *next_buffer++ = buffers[slot];
    out.args.scalars = next_scalar;
    for (std::int32_t slot : step.scalar_slots) *next_scalar++ = scalars[slot];
    out.args.workspace = step.workspace_slot < 0 ? nullptr : buffers[step.workspace_slot];
    out.args.error = &errors_[i];
    out.args.finished = &finished_[i];
  }
  cores_.store(cores, std::memory_order_relaxed);
  failed_step_.store(-1, std::memory_order_relaxed);
  exception_.clear();
  recorded_ = activity_enabled();
  if (recorded_) [[unlikely]]
    pieces_.assign(steps.size(), {});
  threads_ = threads;
  if (threads > 1) {
    mark_waits(steps);
    schedule_.reset(threads);
  }
}

void PlanRun::mark_waits(const std::vector<KernelStep>& steps) {
  bool team_ran = false;  // a step of several cores that thread 0 has not waited for
  bool owed = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool team = steps_[i].cores > 1;
    const bool depends = i > 0 && steps[i].barrier_before;
    steps_[i].waits = team ? depends || owed : depends && team_ran;
    // Only thread 0 waits for a single-core step; the others owe it.
    owed = !team && (depends || owed);
    team_ran = team || (team_ran && !depends);
  }
}

void PlanRun::run_slice(const Step& step, int first, int last) {
  if (!recorded_) [[likely]] {
    call_cores(step, first, last);
    return;
  }
  CorePiece piece{current_thread_id(), first, last, now_ns(), 0};
  call_cores(step, first, last);
  piece.finished_ns = now_ns();
  std::lock_guard lock(pieces_mutex_);
  pieces_[static_cast<std::size_t>(&step - steps_.data())].push_back(piece);
}

void PlanRun::report(const std::vector<KernelStep>& steps) {
  if (!recorded_) return;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<CorePiece>& pieces = pieces_[i];
    if (pieces.empty()) continue;
    ActivityPart part{steps[i].name, pieces[0].started_ns, pieces[0].finished_ns, {}};
    for (const CorePiece& piece : pieces) {
      part.started_ns = std::min(part.started_ns, piece.started_ns);
      part.finished_ns = std::max(part.finished_ns, piece.finished_ns);
    }
    if (steps_[i].cores > 1 && threads_ > 1) part.pieces = std::move(pieces);
    add_activity_part(std::move(part));
  }
}

// Nothing may leave: an exception in a thread of the team ends the process.
void PlanRun::call_cores(const Step& step, int first, int last) {
  const int index = static_cast<int>(&step - steps_.data());
  try {
    for (int core = first; core < last; ++core) step.entry(&step.args, core, step.cores);
  } catch (const std::exception& error) {
    if (claim_failure(index)) exception_ = error.what();
  } catch (...) {
    if (claim_failure(index)) exception_ = "unknown C++ exception";
  }
  if (__atomic_load_n(&step.args.error->code, __ATOMIC_RELAXED) != 0) claim_failure(index);
}

void PlanRun::run_alone() {
  for (const Step& step : steps_) {
    if (failed()) return;
    run_slice(step, 0, step.cores);
  }
}

Status PlanRun::status(const std::vector<KernelStep>& steps) const {
  if (!failed()) return Status::ok();
  const auto index = static_cast<std::size_t>(failed_step_.load(std::memory_order_relaxed));
  const KernelStep& step = steps[index];
  const spyre_kernel_error& error = errors_[index];
  if (error.code == 0) {
    return Status::error(StatusCode::kExternal, "kernel '" + step.name + "': " + exception_);
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

}  // namespace spyre::device
