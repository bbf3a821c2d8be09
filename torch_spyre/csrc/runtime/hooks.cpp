// The accelerator hooks: what PyTorch's generic code asks a PrivateUse1 device.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Storage.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "device/allocator.h"
#include "device/pinned.h"
#include "device/properties.h"
#include "runtime/allocator.h"
#include "runtime/generator.h"
#include "runtime/host_allocator.h"
#include "runtime/registration.h"
#include "runtime/stream.h"

namespace spyre::runtime {

namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device::device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return is_initialized(); }
  void init() const override { initialize(); }

  c10::DeviceIndex deviceCount() const override {
    return static_cast<c10::DeviceIndex>(device::device_count());
  }
  void setCurrentDevice(c10::DeviceIndex index) const override { set_device(index); }
  c10::DeviceIndex getCurrentDevice() const override {
    return static_cast<c10::DeviceIndex>(current_device());
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    return static_cast<c10::DeviceIndex>(maybe_exchange_device(index));
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return static_cast<c10::DeviceIndex>(maybe_exchange_device(index));
  }

  bool isPinnedPtr(const void* data) const override { return device::is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
  c10::Device getDeviceFromPtr(void* data) const override {
    const int index = device::device_of_address(data);
    TORCH_CHECK(index >= 0, "The pointer ", data, " does not belong to a Spyre device");
    return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index)};
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override {
    return default_generator(index);
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return new_generator(index);
  }

  // Keeps min(old, new) bytes. The copy runs in stream order; the old memory lives until it ran.
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t nbytes) const override {
    auto* impl = storage.unsafeGetStorageImpl();
    const device::StreamRef stream = current_stream(storage.device().index());
    c10::DataPtr fresh = allocate_on(nbytes, stream);
    const std::size_t kept = std::min(nbytes, impl->nbytes());
    void* to = fresh.get();
    auto old = std::make_shared<c10::DataPtr>(impl->set_data_ptr(std::move(fresh)));
    impl->set_nbytes(nbytes);
    if (kept == 0) {
      return;
    }
    if (may_run_inline(stream)) {
      std::memcpy(to, old->get(), kept);
    } else {
      enqueue_dma(stream, "resize_", [to, old, kept] { std::memcpy(to, old->get(), kept); });
    }
  }
};

}  // namespace

void register_hooks() {
  static auto* hooks = new Hooks();  // leaked: PyTorch keeps the pointer for good
  at::RegisterPrivateUse1HooksInterface(hooks);
}

}  // namespace spyre::runtime
