// Losses whose `.out` form starts with the unreduced result in the output: the structured wrapper
// would hand it a scalar and ATen would warn that it is resized. Reduced here in a second step.
#include <ATen/core/Reduction.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mse_loss_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/smooth_l1_loss_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/sum.h>

#include "aten/register.h"

namespace spyre::aten {
namespace {

namespace unreduced = at::compositeexplicitautogradnonfunctional;

at::Tensor reduce(const at::Tensor& loss, std::int64_t reduction) {
  switch (reduction) {
    case at::Reduction::Mean:
      return loss.mean();
    case at::Reduction::Sum:
      return loss.sum();
    default:
      return loss;
  }
}

at::Tensor mse_loss(const at::Tensor& self, const at::Tensor& target, std::int64_t reduction) {
  return reduce(unreduced::mse_loss(self, target, at::Reduction::None), reduction);
}

at::Tensor smooth_l1_loss(const at::Tensor& self, const at::Tensor& target, std::int64_t reduction,
                          double beta) {
  return reduce(unreduced::smooth_l1_loss(self, target, at::Reduction::None, beta), reduction);
}

}  // namespace

void register_losses(torch::Library& library) {
  library.impl("mse_loss", TORCH_FN(mse_loss));
  library.impl("smooth_l1_loss", TORCH_FN(smooth_l1_loss));
}

}  // namespace spyre::aten
