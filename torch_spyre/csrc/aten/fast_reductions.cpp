// Fast paths of sum and mean.
#include <ATen/ops/div_native.h>
#include <ATen/ops/mean_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sum_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sum_native.h>

#include "aten/fast_path.h"

namespace spyre::aten {
namespace {

namespace slow = at::compositeexplicitautogradnonfunctional;

bool is_fast_sum(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  const at::ScalarType own = self.scalar_type();
  return (own == at::kFloat || own == at::kDouble) && dtype.value_or(own) == own &&
         self.numel() > 0 && is_fast(self);
}

at::Tensor run_sum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                   std::optional<at::ScalarType> dtype) {
  Functional<at::native::structured_sum_out> op(self.device());
  op.meta(self, dim, keepdim, dtype);
  op.impl(self, dim, keepdim, dtype, op.output);
  return std::move(op.output);
}

at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
               std::optional<at::ScalarType> dtype) {
  return is_fast_sum(self, dtype) ? run_sum(self, dim, keepdim, dtype)
                                  : (OneProfileRow(), slow::sum(self, dim, keepdim, dtype));
}

// As the CPU computes it: the sum, then one division.
at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                std::optional<at::ScalarType> dtype) {
  if (self.scalar_type() != at::kFloat || !is_fast_sum(self, dtype)) {
    return OneProfileRow(), slow::mean(self, dim, keepdim, dtype);
  }
  at::Tensor result = run_sum(self, dim, keepdim, dtype);
  const auto count = static_cast<float>(self.numel() / std::max<std::int64_t>(result.numel(), 1));
  float* values = result.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {  // a fresh output of sum is dense
    values[i] /= count;
  }
  return result;
}

}  // namespace

void register_fast_reductions(torch::Library& library) {
  library.impl("sum.dim_IntList", TORCH_FN(sum));
  library.impl("mean.dim", TORCH_FN(mean));
}

}  // namespace spyre::aten
