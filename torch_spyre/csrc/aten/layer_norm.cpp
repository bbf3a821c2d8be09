// Layer normalisation and its backward: metadata are known, so large ones queue.
#include "aten/libtorch_stubs.h"

#include <ATen/native/cpu/mixed_data_type.h>
#include <ATen/native/layer_norm.h>

#include <tuple>

#include "aten/device_check.h"
#include "aten/fast_path.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

using Triple = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// Mean and reciprocal deviation: the input's shape with 1 for each normalised dimension.
at::DimVector statistics_shape(const at::Tensor& input, at::IntArrayRef normalized_shape) {
  at::DimVector shape(input.sizes());
  std::fill(shape.end() - static_cast<std::ptrdiff_t>(normalized_shape.size()), shape.end(), 1);
  return shape;
}

at::Tensor contiguous(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

Triple layer_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                  const std::optional<at::Tensor>& weight_opt,
                  const std::optional<at::Tensor>& bias_opt, double eps) {
  const at::Tensor weight = weight_opt.value_or(at::Tensor());
  const at::Tensor bias = bias_opt.value_or(at::Tensor());
  check_same_device({&input, &weight, &bias});
  const auto [rows, columns] =
      at::native::_check_layer_norm_inputs(input, normalized_shape, weight, bias);
  const bool mixed = at::native::is_mixed_type(input, weight, bias);
  if (mixed) {
    at::native::check_mixed_data_type(input, weight, bias);
  }
  const at::ScalarType statistics_dtype = at::native::param_scalar_type(input, mixed);
  const at::DimVector shape = statistics_shape(input, normalized_shape);
  at::Tensor output = new_tensor(input.sizes(), input.scalar_type(), input.device());
  at::Tensor mean = new_tensor(shape, statistics_dtype, input.device());
  at::Tensor rstd = new_tensor(shape, statistics_dtype, input.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(stream_of(input), "native_layer_norm", input.numel() <= kFastElements,
               [x = aliases.alias(input), w = aliases.alias(weight), b = aliases.alias(bias),
                y = aliases.alias(output), m = aliases.alias(mean), r = aliases.alias(rstd), eps,
                rows = rows, columns = columns]() mutable {
                 if (rows > 0) {
                   at::native::LayerNormKernel(at::kCPU, contiguous(x), contiguous(w),
                                               contiguous(b), rows, columns, eps, &y, &m, &r);
                 }
               });
  return {output, mean, rstd};
}

Triple layer_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                           at::IntArrayRef normalized_shape, const at::Tensor& mean,
                           const at::Tensor& rstd, const std::optional<at::Tensor>& weight_opt,
                           const std::optional<at::Tensor>& bias_opt, std::array<bool, 3> mask) {
  const at::Tensor weight = weight_opt.value_or(at::Tensor());
  const at::Tensor bias = bias_opt.value_or(at::Tensor());
  check_same_device({&grad, &input, &mean, &rstd, &weight, &bias});
  const auto [rows, columns] =
      at::native::_check_layer_norm_inputs(input, normalized_shape, weight, bias);
  const auto like = [](const at::Tensor& tensor) {
    return new_tensor(tensor.sizes(), tensor.scalar_type(), tensor.device());
  };
  at::Tensor grad_input = mask[0] ? like(input) : at::Tensor();
  at::Tensor grad_weight = mask[1] ? like(weight) : at::Tensor();
  at::Tensor grad_bias = mask[2] ? like(bias) : at::Tensor();
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(stream_of(input), "native_layer_norm_backward", input.numel() <= kFastElements,
               [dy = aliases.alias(grad), x = aliases.alias(input), m = aliases.alias(mean),
                r = aliases.alias(rstd), w = aliases.alias(weight), dx = aliases.alias(grad_input),
                dw = aliases.alias(grad_weight), db = aliases.alias(grad_bias), rows = rows,
                columns = columns]() mutable {
                 if (rows > 0) {
                   at::native::LayerNormBackwardKernel(at::kCPU, contiguous(dy), contiguous(x), m,
                                                       r, contiguous(w), rows, columns, &dx, &dw,
                                                       &db);
                   return;
                 }
                 for (at::Tensor* sum : {&dw, &db}) {
                   if (sum->defined()) {
                     sum->zero_();
                   }
                 }
               });
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace

void register_layer_norm(torch::Library& library) {
  library.impl("native_layer_norm", TORCH_FN(layer_norm));
  library.impl("native_layer_norm_backward", TORCH_FN(layer_norm_backward));
}

}  // namespace spyre::aten
