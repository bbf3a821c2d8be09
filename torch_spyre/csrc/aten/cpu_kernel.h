// The boxed kernel: runs an operator's CPU kernel on aliases of spyre tensors, in stream order.
#pragma once
#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "aten/operator_record.h"

namespace spyre::aten {

// Runs `op` on the arguments on top of the stack and replaces them by the results. Throws what the
// CPU kernel throws when it runs here; queued work leaves its error in the stream. Throws
// RuntimeError for tensors on different devices, NotImplementedError without a CPU kernel.
// `key` is the CPU's counterpart of the key that was called (CPU, SparseCPU, SparseCsrCPU).
void run_cpu_kernel(const c10::OperatorHandle& op, OperatorRecord& record, c10::DispatchKey key,
                    torch::jit::Stack* stack);

// One functor per operator carries the operator's record, so that a call needs no lookup.
class CpuKernel final : public c10::OperatorKernel {
 public:
  CpuKernel(OperatorRecord* record, c10::DispatchKey key) : record_(record), key_(key) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run_cpu_kernel(op, *record_, key_, stack);
  }

 private:
  OperatorRecord* record_;
  c10::DispatchKey key_;
};

}  // namespace spyre::aten
