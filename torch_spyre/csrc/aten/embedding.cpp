// The gradient of embedding(): a dense table whose shape the arguments say. embedding_bag's results
// for its backward, in the sizes that torch.compile expects of every device but the CPU.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/embedding_dense_backward_cpu_dispatch.h>
#include <ATen/ops/searchsorted.h>

#include "aten/cpu_kernel.h"
#include "aten/device_check.h"
#include "aten/fast_path.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

at::Tensor embedding_dense_backward(const at::Tensor& grad, const at::Tensor& indices,
                                    std::int64_t num_weights, std::int64_t padding_idx,
                                    bool scale_grad_by_freq) {
  check_same_device({&grad, &indices});
  at::Tensor result = new_tensor({num_weights, grad.size(-1)}, grad.scalar_type(), grad.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(
      stream_of(grad), "embedding_dense_backward", grad.numel() + result.numel() <= kFastElements,
      [dy = aliases.alias(grad), at = aliases.alias(indices), out = aliases.alias(result),
       num_weights, padding_idx, scale_grad_by_freq]() mutable {
        at::native::copy_(
            out,
            at::cpu::embedding_dense_backward(dy, at, num_weights, padding_idx, scale_grad_by_freq),
            false);
      });
  return result;
}

using BagResults = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

constexpr std::int64_t kModeMax = 2;

// The bag [indices] that each index belongs to; bags may be empty.
at::Tensor bag_of_each_index(const at::Tensor& offsets, std::int64_t indices,
                             at::ScalarType dtype) {
  const at::Tensor positions = at::arange(indices, offsets.options());
  return at::searchsorted(offsets, positions, /*out_int32=*/dtype == at::kInt, /*right=*/true)
      .sub_(1);
}

// The CPU leaves out what its own backward does not read: offset2bag is [indices] or empty,
// bag_size lacks the last offset, max_indices is as long as bag_size unless the mode is max.
BagResults embedding_bag(const c10::OperatorHandle& op, const at::Tensor& weight,
                         const at::Tensor& indices, const at::Tensor& offsets,
                         bool scale_grad_by_freq, std::int64_t mode, bool sparse,
                         const std::optional<at::Tensor>& per_sample_weights,
                         bool include_last_offset, std::int64_t padding_idx) {
  torch::jit::Stack stack{weight,
                          indices,
                          offsets,
                          scale_grad_by_freq,
                          mode,
                          sparse,
                          per_sample_weights,
                          include_last_offset,
                          padding_idx};
  run_cpu_kernel(op, *find_or_make_record(op), c10::DispatchKey::CPU, &stack);
  at::Tensor offset2bag = stack[1].toTensor();
  at::Tensor bag_size = stack[2].toTensor();
  at::Tensor max_indices = stack[3].toTensor();
  if (offset2bag.numel() != indices.numel()) {
    offset2bag = bag_of_each_index(offsets, indices.numel(), offset2bag.scalar_type());
  }
  if (bag_size.numel() < offsets.numel()) {
    bag_size = at::constant_pad_nd(bag_size, {0, offsets.numel() - bag_size.numel()});
  }
  if (mode != kModeMax) {
    max_indices = new_tensor({0}, max_indices.scalar_type(), max_indices.device());
  }
  return {stack[0].toTensor(), offset2bag, bag_size, max_indices};
}

#define SPYRE_EMBEDDING_BAG(NAME)                                                                 \
  BagResults NAME(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets, \
                  bool scale_grad_by_freq, std::int64_t mode, bool sparse,                        \
                  const std::optional<at::Tensor>& per_sample_weights, bool include_last_offset,  \
                  std::int64_t padding_idx) {                                                     \
    static const c10::OperatorHandle op =                                                         \
        c10::Dispatcher::singleton().findSchemaOrThrow("aten::" #NAME, "");                       \
    return embedding_bag(op, weight, indices, offsets, scale_grad_by_freq, mode, sparse,          \
                         per_sample_weights, include_last_offset, padding_idx);                   \
  }

SPYRE_EMBEDDING_BAG(_embedding_bag)
SPYRE_EMBEDDING_BAG(_embedding_bag_forward_only)

}  // namespace

void register_embedding(torch::Library& library) {
  library.impl("_embedding_bag", TORCH_FN(_embedding_bag));
  library.impl("_embedding_bag_forward_only", TORCH_FN(_embedding_bag_forward_only));
  library.impl("embedding_dense_backward", TORCH_FN(embedding_dense_backward));
}

}  // namespace spyre::aten
