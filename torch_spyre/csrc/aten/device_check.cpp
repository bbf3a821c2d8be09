#include "aten/device_check.h"

#include <ATen/core/List.h>
#include <c10/core/Device.h>

#include <optional>

namespace spyre::aten {
namespace {

// CUDA takes 0-dim host tensors for scalars.
class DeviceCheck {
 public:
  explicit DeviceCheck(bool host_tensors) : host_tensors_(host_tensors) {}

  void see(const at::TensorBase& tensor) {
    if (!tensor.defined()) {
      return;
    }
    const c10::Device device = tensor.device();
    if (device.is_cpu() && (host_tensors_ || tensor.dim() == 0)) {
      return;
    }
    if (!first_) {
      first_ = device;
    } else if (*first_ != device) {
      const bool host_first = first_->is_cpu();
      TORCH_CHECK(false,
                  "Expected all tensors to be on the same device, but found at least two devices, ",
                  host_first ? device : *first_, " and ", host_first ? *first_ : device, "!");
    }
  }

 private:
  bool host_tensors_;
  std::optional<c10::Device> first_;
};

}  // namespace

void check_devices(const OperatorRecord& record, const torch::jit::Stack& arguments) {
  DeviceCheck check(record.takes_host_tensors);
  for (const c10::IValue& value : arguments) {
    if (value.isTensor()) {
      check.see(value.toTensor());
    } else if (value.isTensorList()) {
      const c10::List<at::Tensor> list = value.toTensorList();
      for (std::size_t i = 0; i < list.size(); ++i) {
        check.see(list.get(i));
      }
    } else if (value.isOptionalTensorList()) {
      const c10::List<std::optional<at::Tensor>> list = value.toOptionalTensorList();
      for (std::size_t i = 0; i < list.size(); ++i) {
        const std::optional<at::Tensor> item = list.get(i);
        if (item) {
          check.see(*item);
        }
      }
    }
  }
}

void check_same_device(std::initializer_list<const at::TensorBase*> tensors) {
  DeviceCheck check(false);
  for (const at::TensorBase* tensor : tensors) {
    check.see(*tensor);
  }
}

}  // namespace spyre::aten
