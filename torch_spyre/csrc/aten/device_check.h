// Refuses operators whose tensors are not on one card, with CUDA's sentence.
#pragma once
#include <ATen/core/stack.h>

#include "aten/operator_record.h"

namespace spyre::aten {

// Throws RuntimeError for tensors on two cards, or a host tensor of one or more dimensions beside
// a spyre tensor (operators with record.takes_host_tensors accept those).
void check_devices(const OperatorRecord& record, const torch::jit::Stack& arguments);

// The same for a few tensors of a hand-written operator.
void check_same_device(std::initializer_list<const at::TensorBase*> tensors);

}  // namespace spyre::aten
