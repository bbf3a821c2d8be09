// The gradient of embedding(): a dense table whose shape the arguments say.
#include <ATen/ops/copy_native.h>
#include <ATen/ops/embedding_dense_backward_cpu_dispatch.h>

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

}  // namespace

void register_embedding(torch::Library& library) {
  library.impl("embedding_dense_backward", TORCH_FN(embedding_dense_backward));
}

}  // namespace spyre::aten
