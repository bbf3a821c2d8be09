// Operators that wait for the stream cannot do so while it captures; this records them instead.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "aten/operator_record.h"
#include "device/stream.h"

namespace spyre::aten {

// Note [Captured operators]: nothing runs during a capture, so the shapes of new results are
// predicted (prediction.h). The results get memory of the graph's pool at once; a replay runs the
// CPU kernel and copies what it returns there.
//
// `originals` are the call's arguments, `aliases` the same with CPU tensors for spyre ones. Pushes
// the results on `stack`. Throws torch.AcceleratorError when the shapes depend on data.
void capture_call(const c10::OperatorHandle& op, const OperatorRecord& record, c10::DispatchKey key,
                  device::StreamRef stream, c10::Device device, const torch::jit::Stack& originals,
                  torch::jit::Stack aliases, torch::jit::Stack* stack);

// Before an operator that returns its arguments is recorded: an out= of another shape than
// predicted is resized (with PyTorch's warning when it holds elements), and its alias in
// `aliases` made anew. Throws torch.AcceleratorError when nothing tells the shape of an empty out=.
void fit_captured_outputs(const c10::OperatorHandle& op, const OperatorRecord& record,
                          c10::DispatchKey key, const torch::jit::Stack& originals,
                          torch::jit::Stack& aliases);

}  // namespace spyre::aten
