// Fast paths of elementwise functions of one tensor. All keep the dtype of floating tensors.
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/cos_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/cos_native.h>
#include <ATen/ops/exp_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/exp_native.h>
#include <ATen/ops/gelu_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/gelu_native.h>
#include <ATen/ops/log_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/log_native.h>
#include <ATen/ops/neg_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/pow_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/pow_native.h>
#include <ATen/ops/reciprocal_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/reciprocal_native.h>
#include <ATen/ops/relu_native.h>
#include <ATen/ops/rsqrt_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/rsqrt_native.h>
#include <ATen/ops/sigmoid_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sigmoid_native.h>
#include <ATen/ops/silu_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/silu_native.h>
#include <ATen/ops/sin_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sin_native.h>
#include <ATen/ops/sqrt_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sqrt_native.h>
#include <ATen/ops/tanh_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/tanh_native.h>

#include "aten/fast_path.h"

namespace spyre::aten {
namespace {

namespace slow = at::compositeexplicitautogradnonfunctional;

template <class Op, class... Rest>
at::Tensor run(const at::Tensor& self, const Rest&... rest) {
  Functional<Op> op(self.device());
  op.meta(self, rest...);
  op.use_cpu_kernels();
  op.impl(self, rest..., op.output);
  return std::move(op.output);
}

bool is_fast_float(const at::Tensor& self) {
  return c10::isFloatingType(self.scalar_type()) && is_fast(self);
}

#define SPYRE_UNARY(NAME)                                                       \
  at::Tensor NAME(const at::Tensor& self) {                                     \
    return is_fast_float(self) ? run<at::native::structured_##NAME##_out>(self) \
                               : (OneProfileRow(), slow::NAME(self));           \
  }

SPYRE_UNARY(cos)
SPYRE_UNARY(exp)
SPYRE_UNARY(log)
SPYRE_UNARY(neg)
SPYRE_UNARY(reciprocal)
SPYRE_UNARY(rsqrt)
SPYRE_UNARY(sigmoid)
SPYRE_UNARY(silu)
SPYRE_UNARY(sin)
SPYRE_UNARY(sqrt)
SPYRE_UNARY(tanh)

at::Tensor pow_scalar(const at::Tensor& self, const at::Scalar& exponent) {
  const bool fast = !exponent.isComplex() && self.scalar_type() == at::kFloat && is_fast(self);
  return fast ? run<at::native::structured_pow_Tensor_Scalar_out>(self, exponent)
              : (OneProfileRow(), slow::pow(self, exponent));
}

at::Tensor gelu(const at::Tensor& self, c10::string_view approximate) {
  const bool fast = self.scalar_type() == at::kFloat && is_fast(self);
  return fast ? run<at::native::structured_gelu_out_cpu>(self, approximate)
              : (OneProfileRow(), slow::gelu(self, approximate));
}

// ATen's own relu is clamp_min through the dispatcher, which queues large ones.
at::Tensor relu(const at::Tensor& self) {
  return is_fast_float(self) ? run<at::native::structured_clamp_min_out>(self, at::Scalar(0))
                             : at::native::relu(self);
}

}  // namespace

void register_fast_unary(torch::Library& library) {
  library.impl("cos", TORCH_FN(cos));
  library.impl("exp", TORCH_FN(exp));
  library.impl("log", TORCH_FN(log));
  library.impl("neg", TORCH_FN(neg));
  library.impl("reciprocal", TORCH_FN(reciprocal));
  library.impl("relu", TORCH_FN(relu));
  library.impl("relu_", TORCH_FN(at::native::relu_));
  library.impl("rsqrt", TORCH_FN(rsqrt));
  library.impl("sigmoid", TORCH_FN(sigmoid));
  library.impl("silu", TORCH_FN(silu));
  library.impl("sin", TORCH_FN(sin));
  library.impl("sqrt", TORCH_FN(sqrt));
  library.impl("tanh", TORCH_FN(tanh));
  library.impl("pow.Tensor_Scalar", TORCH_FN(pow_scalar));
  library.impl("gelu", TORCH_FN(gelu));
}

}  // namespace spyre::aten
