// Fast paths of functions of two tensors: arithmetic, comparisons, silu's gradient.
#include <ATen/EmptyTensor.h>
#include <ATen/ops/add_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/add_native.h>
#include <ATen/ops/div_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/div_native.h>
#include <ATen/ops/eq_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/eq_native.h>
#include <ATen/ops/ge_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/ge_native.h>
#include <ATen/ops/gt_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/gt_native.h>
#include <ATen/ops/le_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/le_native.h>
#include <ATen/ops/lt_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/lt_native.h>
#include <ATen/ops/maximum_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/maximum_native.h>
#include <ATen/ops/minimum_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/minimum_native.h>
#include <ATen/ops/mul_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/mul_native.h>
#include <ATen/ops/ne_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/ne_native.h>
#include <ATen/ops/silu_backward_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/silu_backward_native.h>
#include <ATen/ops/sub_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sub_native.h>

#include "aten/fast_path.h"

namespace spyre::aten {
namespace {

namespace slow = at::compositeexplicitautogradnonfunctional;

bool is_real_number(at::ScalarType dtype) {
  return c10::isFloatingType(dtype) || dtype == at::kLong || dtype == at::kInt;
}

template <class Op, class... Rest>
at::Tensor run(const at::Tensor& self, const at::Tensor& other, const Rest&... rest) {
  Functional<Op> op(self.device());
  op.meta(self, other, rest...);
  op.use_cpu_kernels();
  op.impl(self, other, rest..., op.output);
  return std::move(op.output);
}

template <class Op, class... Rest>
void run_in_place(const at::Tensor& self, const at::Tensor& other, const Rest&... rest) {
  InPlace<Op> op(self);
  op.meta(self, other, rest...);
  op.use_cpu_kernels();
  op.impl(self, other, rest..., self);
}

// The operand to use in the fast path; undefined: take the slow one.
at::Tensor operand_for(const at::Tensor& self, const at::Tensor& other, bool floats_only) {
  const at::ScalarType dtype = self.scalar_type();
  if (floats_only ? !c10::isFloatingType(dtype) : !is_real_number(dtype)) {
    return {};
  }
  if (other.device().is_cpu()) {
    return is_fast(self) ? scalar_operand(other, self) : at::Tensor();
  }
  return is_fast(self, other) ? other : at::Tensor();
}

// For in-place forms: the shapes must need no look.
bool keeps_shape(const at::Tensor& self, const at::Tensor& other) {
  return other.dim() == 0 || other.sizes() == self.sizes();
}

#define SPYRE_BINARY(NAME, OP, FLOATS_ONLY)                                \
  at::Tensor NAME(const at::Tensor& self, const at::Tensor& other) {       \
    const at::Tensor operand = operand_for(self, other, FLOATS_ONLY);      \
    return operand.defined() ? run<at::native::OP>(self, operand)          \
                             : (OneProfileRow(), slow::NAME(self, other)); \
  }

#define SPYRE_BINARY_IN_PLACE(NAME, OP, FLOATS_ONLY)                                     \
  at::Tensor& NAME(at::Tensor& self, const at::Tensor& other) {                          \
    const at::Tensor operand =                                                           \
        keeps_shape(self, other) ? operand_for(self, other, FLOATS_ONLY) : at::Tensor(); \
    if (!operand.defined()) {                                                            \
      return OneProfileRow(), slow::NAME(self, other);                                   \
    }                                                                                    \
    run_in_place<at::native::OP>(self, operand);                                         \
    return self;                                                                         \
  }

SPYRE_BINARY(mul, structured_mul_out, false)
SPYRE_BINARY_IN_PLACE(mul_, structured_mul_out, false)
SPYRE_BINARY(div, structured_div_out, true)
SPYRE_BINARY_IN_PLACE(div_, structured_div_out, true)
SPYRE_BINARY(maximum, structured_maximum_out, false)
SPYRE_BINARY(minimum, structured_minimum_out, false)

// A comparison converts its number to the tensor's dtype only if nothing is lost by it.
#define SPYRE_COMPARISON(NAME)                                                     \
  SPYRE_BINARY(NAME, structured_##NAME##_Tensor_out, false)                        \
  at::Tensor NAME##_scalar(const at::Tensor& self, const at::Scalar& other) {      \
    if (self.scalar_type() == at::kFloat && !other.isComplex() && is_fast(self)) { \
      at::Tensor operand = at::detail::empty_cpu({}, at::kFloat);                  \
      *operand.mutable_data_ptr<float>() = other.toFloat();                        \
      return run<at::native::structured_##NAME##_Tensor_out>(self, operand);       \
    }                                                                              \
    return OneProfileRow(), slow::NAME(self, other);                               \
  }

SPYRE_COMPARISON(eq)
SPYRE_COMPARISON(ne)
SPYRE_COMPARISON(lt)
SPYRE_COMPARISON(le)
SPYRE_COMPARISON(gt)
SPYRE_COMPARISON(ge)

#define SPYRE_SUM(NAME, OP)                                                                       \
  at::Tensor NAME(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {     \
    const at::Tensor operand = operand_for(self, other, /*floats_only=*/true);                    \
    return operand.defined() && !alpha.isComplex()                                                \
               ? run<at::native::OP>(self, operand, alpha)                                        \
               : (OneProfileRow(), slow::NAME(self, other, alpha));                               \
  }                                                                                               \
  at::Tensor& NAME##_(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {       \
    const at::Tensor operand =                                                                    \
        keeps_shape(self, other) ? operand_for(self, other, /*floats_only=*/true) : at::Tensor(); \
    if (!operand.defined() || alpha.isComplex()) {                                                \
      return OneProfileRow(), slow::NAME##_(self, other, alpha);                                  \
    }                                                                                             \
    run_in_place<at::native::OP>(self, operand, alpha);                                           \
    return self;                                                                                  \
  }

SPYRE_SUM(add, structured_ufunc_add_CPU)
SPYRE_SUM(sub, structured_sub_out)

// Without a kernel of the device, autograd takes ATen's composite formula, which rounds each step
// to 16 bits; the CPU's kernel computes in float32.
at::Tensor silu_backward(const at::Tensor& grad_output, const at::Tensor& self) {
  const bool fast = c10::isFloatingType(self.scalar_type()) && is_fast(self, grad_output);
  return fast ? run<at::native::structured_silu_backward_out>(grad_output, self)
              : (OneProfileRow(), slow::silu_backward(grad_output, self));
}

}  // namespace

at::Tensor scalar_operand(const at::Tensor& number, const at::Tensor& like) {
  const bool wrapped = number.unsafeGetTensorImpl()->is_wrapped_number();
  if (number.dim() != 0 || !wrapped) {
    return {};
  }
  at::Tensor operand;
  // 16-bit floats stay away: their kernels use the number in its original precision.
  if (like.scalar_type() == at::kFloat && !c10::isComplexType(number.scalar_type())) {
    operand = at::detail::empty_cpu({}, at::kFloat);
    const float value = number.scalar_type() == at::kDouble
                            ? static_cast<float>(*number.const_data_ptr<double>())
                        : number.scalar_type() == at::kLong
                            ? static_cast<float>(*number.const_data_ptr<std::int64_t>())
                            : static_cast<float>(*number.const_data_ptr<bool>());
    *operand.mutable_data_ptr<float>() = value;
  } else if (number.scalar_type() == like.scalar_type()) {
    operand = number;
  }
  return operand;
}

void register_fast_binary(torch::Library& library) {
  library.impl("add.Tensor", TORCH_FN(add));
  library.impl("add_.Tensor", TORCH_FN(add_));
  library.impl("sub.Tensor", TORCH_FN(sub));
  library.impl("sub_.Tensor", TORCH_FN(sub_));
  library.impl("mul.Tensor", TORCH_FN(mul));
  library.impl("mul_.Tensor", TORCH_FN(mul_));
  library.impl("div.Tensor", TORCH_FN(div));
  library.impl("div_.Tensor", TORCH_FN(div_));
  library.impl("maximum", TORCH_FN(maximum));
  library.impl("minimum", TORCH_FN(minimum));
  library.impl("silu_backward", TORCH_FN(silu_backward));
#define SPYRE_REGISTER_COMPARISON(NAME)          \
  library.impl(#NAME ".Tensor", TORCH_FN(NAME)); \
  library.impl(#NAME ".Scalar", TORCH_FN(NAME##_scalar));
  SPYRE_REGISTER_COMPARISON(eq)
  SPYRE_REGISTER_COMPARISON(ne)
  SPYRE_REGISTER_COMPARISON(lt)
  SPYRE_REGISTER_COMPARISON(le)
  SPYRE_REGISTER_COMPARISON(gt)
  SPYRE_REGISTER_COMPARISON(ge)
}

}  // namespace spyre::aten
