// nonzero_static in the layout of other devices, which torch.compile expects of every device but
// the CPU: one index per column, columns one after the other.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "aten/cpu_kernel.h"
#include "aten/operator_record.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

at::Tensor nonzero_static(const at::Tensor& self, std::int64_t size, std::int64_t fill_value) {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::nonzero_static", "");
  torch::jit::Stack stack{self, size, fill_value};
  run_cpu_kernel(op, *find_or_make_record(op), c10::DispatchKey::CPU, &stack);
  return stack[0].toTensor().t().contiguous().t();
}

}  // namespace

void register_nonzero(torch::Library& library) {
  library.impl("nonzero_static", TORCH_FN(nonzero_static));
}

}  // namespace spyre::aten
