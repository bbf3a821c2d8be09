// How eager work runs: inline on the calling thread, queued on the stream, or waited for.
//
// Note [Who runs what]: the calling thread never opens an OpenMP team (two teams beside each other
// cost 300-400 us a kernel); parallel ATen code runs on the card's executor only.
#pragma once
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>
#include <omp.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/activity.h"
#include "device/stream.h"
#include "runtime/stream.h"

namespace spyre::aten {

// The calling thread's parallel regions have one thread while this lives.
class SingleThreadScope {
 public:
  SingleThreadScope() : threads_(at::get_num_threads()) {
    if (threads_ != 1) {
      omp_set_num_threads(1);
    }
  }
  ~SingleThreadScope() {
    if (threads_ != 1) {
      omp_set_num_threads(threads_);
    }
  }
  SingleThreadScope(const SingleThreadScope&) = delete;
  SingleThreadScope& operator=(const SingleThreadScope&) = delete;

 private:
  int threads_;
};

// CPU kernels called on aliases must not meet autograd again: it ran above the device's kernels. A
// device profile must not show the operators that a kernel is made of: it shows the kernel.
class BelowAutograd {
 public:
  BelowAutograd()
      : guard_(c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset) {
    if (device::activity_enabled()) [[unlikely]] {
      hidden_.emplace();
    }
  }

 private:
  c10::impl::ExcludeDispatchKeyGuard guard_;
  std::optional<at::DisableRecordFunctionGuard> hidden_;
};

// A structured operator's composite kernel calls the `.out` form through the dispatcher. While this
// lives a profile does not count that call as an operator of the user's, and neither does CUDA's.
// `return OneProfileRow(), f(x);` covers the call of `f`. The guard itself costs 0.3 us, the
// question 0.01.
class OneProfileRow {
 public:
  OneProfileRow() {
    if (at::hasCallbacks()) [[unlikely]] {
      hidden_.emplace();
    }
  }

 private:
  std::optional<at::DisableRecordFunctionGuard> hidden_;
};

// Runs `fn` as queued work does: below autograd, C++ exceptions turned into a Status.
template <class F>
device::Status run_as_work(F& fn) {
  BelowAutograd guard;
  try {
    fn();
    return device::Status::ok();
  } catch (const c10::Error& error) {
    return device::Status::error(device::StatusCode::kExternal, error.what_without_backtrace());
  }  // other exceptions: device/work.h says that they become the stream's error too
}

// Queues `fn` on the compute engine. `fn` owns what it needs except pool memory, and may run twice.
template <class F>
void queue(device::StreamRef stream, std::string name, F fn) {
  runtime::enqueue_compute(stream, std::move(name),
                           [fn = std::move(fn)]() mutable { return run_as_work(fn); });
}

// What waited-for work on the executor leaves for its caller. Warnings must be Python's, and only
// the calling thread has Python's handler.
struct Outcome final : c10::WarningHandler {
  void process(const c10::Warning& warning) override { warnings.push_back(warning); }
  std::vector<c10::Warning> warnings;
  std::exception_ptr error;
};

// Runs `fn` after everything queued on the stream and returns when it is done. Small work runs on
// this thread, the rest on the executor. The exceptions of `fn` leave with their type.
template <class F>
void run_and_wait(device::StreamRef stream, const std::string& name, bool small, F&& fn) {
  if (!runtime::may_run_inline(stream)) {
    runtime::synchronize(stream);
  }
  if (small) {
    const device::InlineActivity activity(stream, device::Engine::kCompute, name.c_str());
    BelowAutograd guard;
    SingleThreadScope threads;
    fn();
    return;
  }
  auto outcome = std::make_shared<Outcome>();
  runtime::enqueue_compute(stream, name, [&fn, outcome] {
    BelowAutograd guard;
    c10::WarningUtils::WarningHandlerGuard warnings(outcome.get());
    try {
      fn();
    } catch (...) {
      outcome->error = std::current_exception();
    }
  });
  runtime::synchronize(stream);
  for (const c10::Warning& warning : outcome->warnings) {
    c10::warn(warning);
  }
  if (outcome->error) {
    std::rethrow_exception(outcome->error);
  }
}

// Small work runs at once when the stream allows it; everything else is queued. `fn` must be fit
// for queue(); it is called on this thread otherwise.
template <class F>
void run_or_queue(device::StreamRef stream, const char* name, bool small, F&& fn) {
  if (small && runtime::may_run_inline(stream)) {
    const device::InlineActivity activity(stream, device::Engine::kCompute, name);
    BelowAutograd guard;
    SingleThreadScope threads;
    fn();
    return;
  }
  queue(stream, name, std::forward<F>(fn));
}

}  // namespace spyre::aten
