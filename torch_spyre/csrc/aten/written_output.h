// Outputs that queued work writes: the host has already told their metadata.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/operator_name.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/copy_native.h>
#include <c10/util/Exception.h>

namespace spyre::aten {

// One output, an alias on the CPU. Make it before the kernel runs, settle() after.
class WrittenOutput {
 public:
  explicit WrittenOutput(const at::Tensor& alias)
      : alias_(alias),
        sizes_(alias.sizes()),
        strides_(alias.strides()),
        address_(alias.const_data_ptr()) {}

  // Some kernels restride an output to their input's memory format: its elements move back. Throws
  // when the kernel resized it.
  void settle(const c10::OperatorName& name) {
    TORCH_CHECK(alias_.sizes() == at::IntArrayRef(sizes_) && alias_.const_data_ptr() == address_,
                name, ": the output has shape ", at::IntArrayRef(sizes_), " but ", alias_.sizes(),
                " is needed; resize it before the call");
    if (alias_.strides() != at::IntArrayRef(strides_)) {
      const at::Tensor elements = alias_.clone();
      alias_.unsafeGetTensorImpl()->set_sizes_and_strides(sizes_, strides_);
      at::native::copy_(alias_, elements, /*non_blocking=*/false);
    }
  }

 private:
  at::Tensor alias_;
  at::DimVector sizes_, strides_;
  const void* address_;
};

}  // namespace spyre::aten
