// Fast paths of softmax and log_softmax: their kernels take the card's memory as it is.
#include <ATen/ops/_log_softmax_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/_log_softmax_native.h>
#include <ATen/ops/_softmax_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/_softmax_native.h>

#include "aten/fast_path.h"

namespace spyre::aten {
namespace {

namespace slow = at::compositeexplicitautogradnonfunctional;

bool is_fast_softmax(const at::Tensor& self, bool half_to_float) {
  return !half_to_float && c10::isFloatingType(self.scalar_type()) && is_fast(self) &&
         self.is_contiguous();
}

template <class Op>
at::Tensor run(const at::Tensor& self, std::int64_t dim) {
  Functional<Op> op(self.device());
  op.meta(self, dim, /*half_to_float=*/false);
  op.impl(self, dim, /*half_to_float=*/false, op.output);
  return std::move(op.output);
}

at::Tensor softmax(const at::Tensor& self, std::int64_t dim, bool half_to_float) {
  return is_fast_softmax(self, half_to_float)
             ? run<at::native::structured_softmax_cpu_out>(self, dim)
             : (OneProfileRow(), slow::_softmax(self, dim, half_to_float));
}

at::Tensor log_softmax(const at::Tensor& self, std::int64_t dim, bool half_to_float) {
  return is_fast_softmax(self, half_to_float)
             ? run<at::native::structured_log_softmax_cpu_out>(self, dim)
             : (OneProfileRow(), slow::_log_softmax(self, dim, half_to_float));
}

}  // namespace

void register_fast_softmax(torch::Library& library) {
  library.impl("_softmax", TORCH_FN(softmax));
  library.impl("_log_softmax", TORCH_FN(log_softmax));
}

}  // namespace spyre::aten
