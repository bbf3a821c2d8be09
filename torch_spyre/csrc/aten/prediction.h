// Results whose metadata an operator's meta kernel tells before the operator runs.
//
// Note [Predicted results]: operators that are not structured give their results' shapes only when
// they run, so a call would have to wait for its stream. The first call with some dtypes does wait,
// and compares what it got with what the meta kernel told. Where that agreed, later calls allocate
// the results at once and queue the CPU kernel: its `.out` form writes them in place, or they are
// copied. Mistakes in shapes are found by the meta kernel; the call then waits, and the CPU kernel
// says what is wrong. Mistakes in values become the stream's error, as on CUDA.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <optional>
#include <string>

#include "aten/cpu_alias.h"
#include "aten/operator_record.h"
#include "device/stream.h"

namespace spyre::aten {

// What the meta kernel returns for the call's arguments; nullopt, and why, when it cannot tell.
std::optional<torch::jit::Stack> predict_results(const c10::OperatorHandle& op,
                                                 const torch::jit::Stack& originals,
                                                 std::string* why);

// The tensors among results in order, lists as their items; nullopt when there is something else.
std::optional<std::vector<at::Tensor>> result_tensors(const torch::jit::Stack& results);

// False where the results would have to be copied and the copy costs more than a wait.
bool worth_queueing(const OperatorRecord& record, const torch::jit::Stack& predicted);

// Allocates results as predicted, pushes them on `stack` and queues the kernel that fills them.
// `aliases` are the call's arguments with CPU tensors; `ownership` is that of the results' memory.
// Requires result_tensors(predicted).
void queue_predicted(const c10::OperatorHandle& op, const OperatorRecord& record,
                     c10::DispatchKey key, device::StreamRef stream, c10::Device device,
                     const torch::jit::Stack& predicted, torch::jit::Stack aliases,
                     Ownership ownership, torch::jit::Stack* stack);

// The dtypes of a call's tensors: those of which an operator's predictions are known to hold.
std::uint64_t dtype_set(const AliasSet& aliases);
// Whether calls with these dtypes ran before and gave what had been predicted.
bool prediction_holds(const OperatorRecord& record, std::uint64_t dtypes);
// Compares the results that the CPU kernel gave for `aliases` with the prediction and remembers the
// outcome, once per dtype_set.
void learn_prediction(const c10::OperatorHandle& op, OperatorRecord& record,
                      const AliasSet& aliases, const torch::jit::Stack& originals,
                      const torch::jit::Stack& results);

}  // namespace spyre::aten
