// where and masked_fill_: queued when the output's layout needs no look at the kernel's choice.
#include <ATen/ExpandUtils.h>
#include <ATen/ops/masked_fill_cpu_dispatch.h>
#include <ATen/ops/where_cpu_dispatch.h>

#include "aten/cpu_kernel.h"
#include "aten/device_check.h"
#include "aten/fast_path.h"
#include "aten/register.h"

namespace spyre::aten {
namespace {

bool is_plain(const at::Tensor& tensor, c10::Device device) {
  return tensor.device() == device && is_strided(tensor) && tensor.is_contiguous();
}

// Host numbers, conversions, layouts that TensorIterator chooses: the boxed kernel.
at::Tensor boxed_where(const at::Tensor& condition, const at::Tensor& self,
                       const at::Tensor& other) {
  static const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::where", "self");
  static OperatorRecord* record = find_or_make_record(op);
  torch::jit::Stack stack = {condition, self, other};
  run_cpu_kernel(op, *record, c10::DispatchKey::CPU, &stack);
  return stack.back().toTensor();
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  check_same_device({&condition, &self, &other});
  const at::Tensor& on_card = is_spyre(condition) ? condition : is_spyre(self) ? self : other;
  const c10::Device device = on_card.device();
  const std::int64_t total = condition.numel() + self.numel() + other.numel();
  if (is_plain(condition, device) && is_plain(self, device) && is_plain(other, device) &&
      condition.scalar_type() == at::kBool && self.scalar_type() == other.scalar_type()) {
    const at::DimVector shape = at::infer_size_dimvector(
        at::infer_size_dimvector(condition.sizes(), self.sizes()), other.sizes());
    at::Tensor result = new_tensor(shape, self.scalar_type(), device);
    AliasSet aliases(Ownership::kBorrowPool);
    run_or_queue(stream_of(on_card), "where",
                 total <= 3 * kFastElements && result.numel() <= kFastElements,
                 [c = aliases.alias(condition), a = aliases.alias(self), b = aliases.alias(other),
                  out = aliases.alias(result)]() mutable { at::cpu::where_outf(c, a, b, out); });
    return result;
  }
  return boxed_where(condition, self, other);
}

at::Tensor& masked_fill_scalar(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
  check_same_device({&self, &mask});
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_fill_ only supports boolean masks, but got mask with dtype ",
              mask.scalar_type());
  TORCH_CHECK(at::is_expandable_to(mask.sizes(), self.sizes()), "The shape of the mask ",
              mask.sizes(), " at masked_fill_ does not expand to the shape ", self.sizes());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(stream_of(self), "masked_fill_", self.numel() <= kFastElements,
               [out = aliases.alias(self), m = aliases.alias(mask), value]() mutable {
                 at::cpu::masked_fill_(out, m, value);
               });
  return self;
}

}  // namespace

void register_masking(torch::Library& library) {
  library.impl("where.self", TORCH_FN(where));
  library.impl("masked_fill_.Scalar", TORCH_FN(masked_fill_scalar));
}

}  // namespace spyre::aten
