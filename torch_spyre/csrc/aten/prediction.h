// Results whose metadata is known before the operator runs: from its meta kernel, or from a run of
// its CPU kernel on zeros where there is none or where it differs from the CPU's (embedding_bag).
//
// Only while a graph is captured: PyTorch's meta kernels are Python (torch/_meta_registrations.py
// overrides the C++ ones), take 0.1 to 0.5 ms a call and import a thousand modules at the first. In
// eager mode an operator that does not know its results' shapes waits for its stream instead.
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

// What the operator returns for the call's arguments, on meta or on the host; nullopt, and why,
// when nothing can tell. `aliases` are the arguments with CPU tensors.
std::optional<torch::jit::Stack> predict_results(const c10::OperatorHandle& op,
                                                 const OperatorRecord& record, c10::DispatchKey key,
                                                 const torch::jit::Stack& originals,
                                                 const torch::jit::Stack& aliases,
                                                 std::string* why);

// The tensors among results in order, lists as their items; nullopt when there is something else,
// a sparse tensor too.
std::optional<std::vector<at::Tensor>> result_tensors(const torch::jit::Stack& results);

// Allocates results as predicted, pushes them on `stack` and queues the kernel that fills them.
// `aliases` are the call's arguments with CPU tensors. Requires result_tensors(predicted).
void queue_predicted(const c10::OperatorHandle& op, const OperatorRecord& record,
                     c10::DispatchKey key, device::StreamRef stream, c10::Device device,
                     const torch::jit::Stack& predicted, torch::jit::Stack aliases,
                     torch::jit::Stack* stack);

}  // namespace spyre::aten
