// New tensors in the card's memory, without the dispatcher.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace spyre::aten {

// An uninitialised tensor on `device` (with index), allocated for the card's current stream.
// Throws torch.OutOfMemoryError, RuntimeError for negative sizes.
at::Tensor new_tensor(at::IntArrayRef sizes, at::ScalarType dtype, c10::Device device);
at::Tensor new_tensor_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype,
                              c10::Device device);
// The card that a factory's device argument names; the current one without an index. Throws
// torch.AcceleratorError when it is out of range.
c10::Device resolve_device(std::optional<c10::Device> device);

}  // namespace spyre::aten
