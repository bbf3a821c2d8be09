// The pieces of SyncBatchNorm, composed from the card's own operators. Formulas of
// ATen/native/cuda/Normalization.cuh (torch 2.13). Input [N, C, ...]; statistics [C] in float32 for
// 16-bit inputs.
#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/var_mean.h>

#include <tuple>

#include "aten/register.h"

namespace spyre::aten {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;
using Quadruple = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::DimVector all_but_channels(const at::Tensor& input) {
  at::DimVector dims;
  for (std::int64_t dim = 0; dim < input.dim(); ++dim) {
    if (dim != 1) {
      dims.push_back(dim);
    }
  }
  return dims;
}

at::Tensor widened(const at::Tensor& tensor) {
  return at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

// [C] as [1, C, 1, ...] beside an input.
at::Tensor per_channel(const at::Tensor& values, const at::Tensor& input) {
  at::DimVector shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = values.numel();
  return widened(values).view(shape);
}

Pair stats(const at::Tensor& input, double eps) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm_stats: input must have shape [N, C, ...], got ",
              input.sizes());
  const auto [variance, mean] =
      at::var_mean(widened(input), all_but_channels(input), /*correction=*/at::Scalar(0));
  return {mean, at::rsqrt(variance + eps)};
}

at::Tensor elemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                 const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                 const at::Tensor& invstd, double /*eps*/) {
  at::Tensor result = (widened(input) - per_channel(mean, input)) * per_channel(invstd, input);
  if (weight && weight->defined()) {
    result = result * per_channel(*weight, input);
  }
  if (bias && bias->defined()) {
    result = result + per_channel(*bias, input);
  }
  return result.to(input.scalar_type());
}

// mean, invstd [processes, C]; counts [processes].
Pair gather_stats(const at::Tensor&, const at::Tensor& mean, const at::Tensor& invstd,
                  const std::optional<at::Tensor>& running_mean,
                  const std::optional<at::Tensor>& running_var, double momentum, double eps,
                  const at::Tensor& counts) {
  const at::Tensor weights = counts.to(mean.scalar_type()).view({-1, 1});
  const at::Tensor total = weights.sum();
  const at::Tensor mean_all = (mean * weights).sum(0) / total;
  const at::Tensor variances = invstd.reciprocal().square() - eps;
  const at::Tensor moment = ((variances + (mean - mean_all).square()) * weights).sum(0);
  if (running_mean && running_mean->defined()) {
    running_mean->mul_(1 - momentum).add_(mean_all.to(running_mean->scalar_type()), momentum);
  }
  if (running_var && running_var->defined()) {
    const at::Tensor unbiased = moment / (total - 1);
    running_var->mul_(1 - momentum).add_(unbiased.to(running_var->scalar_type()), momentum);
  }
  return {mean_all, at::rsqrt(moment / total + eps)};
}

Quadruple backward_reduce(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                          const at::Tensor& invstd, const std::optional<at::Tensor>& weight,
                          bool input_g, bool weight_g, bool bias_g) {
  const at::DimVector dims = all_but_channels(input);
  const at::Tensor wide = widened(grad);
  const at::Tensor sum_dy = wide.sum(dims);
  const at::Tensor sum_dy_xmu = (wide * (widened(input) - per_channel(mean, input))).sum(dims);
  const at::ScalarType dtype =
      weight && weight->defined() ? weight->scalar_type() : input.scalar_type();
  return {input_g ? sum_dy : at::Tensor(), input_g ? sum_dy_xmu : at::Tensor(),
          weight_g ? (sum_dy_xmu * invstd).to(dtype) : at::Tensor(),
          bias_g ? sum_dy.to(dtype) : at::Tensor()};
}

at::Tensor backward_elemt(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                          const at::Tensor& invstd, const std::optional<at::Tensor>& weight,
                          const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu,
                          const at::Tensor& count) {
  const at::Tensor total = count.sum().to(mean.scalar_type());
  const at::Tensor mean_dy = per_channel(sum_dy / total, input);
  const at::Tensor slope = per_channel(sum_dy_xmu / total * invstd.square(), input);
  at::Tensor scale = per_channel(invstd, input);
  if (weight && weight->defined()) {
    scale = scale * per_channel(*weight, input);
  }
  const at::Tensor centred = widened(input) - per_channel(mean, input);
  return ((widened(grad) - mean_dy - centred * slope) * scale).to(input.scalar_type());
}

}  // namespace

void register_sync_batch_norm(torch::Library& library) {
  library.impl("batch_norm_stats", TORCH_FN(stats));
  library.impl("batch_norm_elemt", TORCH_FN(elemt));
  library.impl("batch_norm_gather_stats_with_counts", TORCH_FN(gather_stats));
  library.impl("batch_norm_backward_reduce", TORCH_FN(backward_reduce));
  library.impl("batch_norm_backward_elemt", TORCH_FN(backward_elemt));
}

}  // namespace spyre::aten
