// Operators about tensors rather than about numbers: item(), record_stream, `.data =`.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <c10/core/Stream.h>

#include "aten/cpu_alias.h"
#include "aten/register.h"
#include "runtime/allocator.h"
#include "runtime/stream.h"

namespace spyre::aten {
namespace {

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const device::StreamRef stream = runtime::current_stream(self.device().index());
  runtime::note_implicit_wait("item");
  if (!runtime::may_run_inline(stream)) {
    runtime::synchronize(stream);
  }
  AliasSet aliases(Ownership::kBorrowPool);
  return at::native::_local_scalar_dense_cpu(aliases.alias(self));
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  runtime::record_stream(self.storage().data_ptr(), runtime::from_c10(stream));
}

// Without this `.data =` refuses spyre tensors and module.to() makes new Parameters: torch's own
// list of dense back ends (TensorImpl::has_compatible_shallow_copy_type) has no PrivateUse1.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  const auto is_plain = [](const at::Tensor& tensor) {
    return tensor.layout() == at::kStrided && !tensor.is_quantized() &&
           (tensor.device().is_cpu() || tensor.device().is_privateuseone() ||
            tensor.device().is_cuda());
  };
  if (is_plain(self) && is_plain(from)) {
    return true;
  }
  return self.layout() == from.layout() && self.is_quantized() == from.is_quantized();
}

}  // namespace

void register_tensor_state(torch::Library& library) {
  library.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
  library.impl("record_stream", TORCH_FN(record_stream));
  library.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
}

}  // namespace spyre::aten
