// Sparse COO and compressed tensors rebuilt over the memory of another device.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

namespace spyre::aten {

using ConvertPart = std::function<at::Tensor(const at::Tensor&)>;

// A sparse tensor of the same kind, shape and flags on `device`, whose dense parts are
// convert(part). Throws NotImplementedError for other layouts (mkldnn, jagged).
at::Tensor rebuild_sparse(const at::Tensor& tensor, c10::Device device, const ConvertPart& convert);

// Makes `original` hold what its alias holds now, when the kernel replaced the parts.
void write_back_sparse(const at::Tensor& original, const at::Tensor& alias,
                       const ConvertPart& to_device);

}  // namespace spyre::aten
