// histc of integers, which CUDA has and the CPU lacks: transformers counts tokens per expert with
// it on every device but the CPU.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/histc.h>
#include <torch/library.h>

#include "aten/cpu_kernel.h"
#include "aten/operator_record.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

at::Tensor histc(const at::Tensor& self, std::int64_t bins, const at::Scalar& min,
                 const at::Scalar& max) {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::histc", "");
  const bool integral = at::isIntegralType(self.scalar_type(), /*includeBool=*/false);
  // Counts and bounds of integers are exact in float64 up to 2^53.
  torch::jit::Stack stack{integral ? self.to(at::kDouble) : self, bins, min, max};
  run_cpu_kernel(op, *find_or_make_record(op), c10::DispatchKey::CPU, &stack);
  const at::Tensor counts = stack[0].toTensor();
  return integral ? counts.to(self.scalar_type()) : counts;
}

}  // namespace

void register_histogram(torch::Library& library) { library.impl("histc", TORCH_FN(histc)); }

}  // namespace spyre::aten
