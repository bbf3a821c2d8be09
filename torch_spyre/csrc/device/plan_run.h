// One run of a launch's steps, by one thread or by several at once. Internal to layer 0.
//
// Note [Order of steps]: a step that waits needs all cores of the steps before it. Steps of one
// core run on thread 0, the caller's, so between them program order is enough. A wait that is left
// out for that reason is owed: the next step of several cores must have it, even when that step
// itself depends on nothing.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "activity.h"
#include "launch.h"
#include "team_schedule.h"

namespace spyre::device {

class PlanRun {
 public:
  // Gathers what threads need, so that they only call. `threads` is the most that may take part.
  void prepare(const std::vector<KernelStep>& steps, void* const* buffers,
               const std::int64_t* scalars, int threads);

  // Every step on the calling thread.
  void run_alone();

  // Thread 0's part: every step, and what no other thread has claimed. `after_piece()` is called
  // after each piece of work. On return all cores of all steps are finished, whoever ran them.
  template <class F>
  void run_first(F after_piece);

  // The part of thread 1, 2, ...: may begin at any time and leaves when nothing is left to claim or
  // `leave()` is true between two pieces. True when it ran anything.
  template <class F>
  bool help(int thread, F leave);

  // After the run: tells the profiler, when it listens, what each step's threads did.
  void report(const std::vector<KernelStep>& steps);
  // Of the first failure, after the run.
  Status status(const std::vector<KernelStep>& steps) const;

  // Virtual cores of all steps. Any thread, at any time.
  std::uint64_t cores_finished() const { return schedule_.finished(); }
  std::uint64_t cores_in_all() const { return cores_.load(std::memory_order_relaxed); }

 private:
  struct Step {
    spyre_kernel_fn entry = nullptr;
    spyre_kernel_args args{};
    int cores = 1;
    bool waits = false;
    std::uint64_t cores_before = 0;  // of all earlier steps
  };

  void mark_waits(const std::vector<KernelStep>& steps);
  void run_slice(const Step& step, int first, int last);
  void call_cores(const Step& step, int first, int last);
  bool failed() const { return failed_step_.load(std::memory_order_relaxed) >= 0; }
  bool claim_failure(int step) {
    int none = -1;
    return failed_step_.compare_exchange_strong(none, step);
  }

  std::vector<Step> steps_;
  std::vector<spyre_kernel_error> errors_;
  std::vector<int> finished_;  // cores of each step, counted by the kernel
  std::vector<void*> buffers_;
  std::vector<long long> scalars_;
  int threads_ = 1;
  std::atomic<std::uint64_t> cores_{0};
  TeamSchedule schedule_;
  std::atomic<int> failed_step_{-1};  // set once; then no more kernels are called
  bool recorded_ = false;
  std::mutex pieces_mutex_;
  std::vector<std::vector<CorePiece>> pieces_;  // per step, while recorded
  std::string exception_;                       // written by the thread that set failed_step_
};

template <class F>
void PlanRun::run_first(F after_piece) {
  const int count = static_cast<int>(steps_.size());
  for (int i = 0; i < count; ++i) {
    const Step& step = steps_[static_cast<std::size_t>(i)];
    if (step.waits) schedule_.wait_finished(step.cores_before);
    if (step.cores == 1) {
      if (!failed()) run_slice(step, 0, 1);
      schedule_.finish(1);
      after_piece();
      continue;
    }
    int first = 0, last = 0;
    for (int owner = 0; owner < threads_; ++owner) {
      while (schedule_.claim(i, step.cores, owner, threads_, &first, &last)) {
        if (!failed()) run_slice(step, first, last);
        schedule_.finish(last - first);
        after_piece();
      }
    }
  }
  schedule_.wait_finished(cores_in_all());
}

template <class F>
bool PlanRun::help(int thread, F leave) {
  bool ran = false;
  const int count = static_cast<int>(steps_.size());
  for (int i = 0; i < count; ++i) {
    const Step& step = steps_[static_cast<std::size_t>(i)];
    if (step.cores == 1) continue;
    if (step.waits && !schedule_.wait_finished(step.cores_before, leave)) return ran;
    int first = 0, last = 0;
    for (int turn = 0; turn < threads_; ++turn) {
      const int owner = (thread + turn) % threads_;
      while (!leave() && schedule_.claim(i, step.cores, owner, threads_, &first, &last)) {
        if (!failed()) run_slice(step, first, last);
        schedule_.finish(last - first);
        ran = true;
      }
    }
    if (leave()) return ran;
  }
  return ran;
}

}  // namespace spyre::device
