// Device guard: how c10 switches cards and streams and handles events.
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include "device/event.h"
#include "device/graph.h"
#include "device/properties.h"
#include "runtime/allocator.h"
#include "runtime/current.h"
#include "runtime/registration.h"
#include "runtime/stream.h"

namespace spyre::runtime {

namespace {

c10::Device device_at(int index) {
  return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index)};
}

// A device without an index means the current card.
int index_of(c10::Device device) {
  if (device.index() < 0) {
    return current_device();
  }
  check_device_index(device.index());
  return device.index();
}

device::Event* event_of(void* event) { return static_cast<device::Event*>(event); }

class GuardImpl final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }

  c10::Device exchangeDevice(c10::Device device) const override {
    return device_at(device.index() < 0 ? current_device() : exchange_device(device.index()));
  }
  c10::Device getDevice() const override { return device_at(current_device()); }
  void setDevice(c10::Device device) const override { maybe_exchange_device(device.index()); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < kMaxDevices) {
      t_current.device = device.index();
    }
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(device::device_count());
  }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }

  c10::Stream getStream(c10::Device device) const override {
    return to_c10(current_stream(static_cast<c10::DeviceIndex>(index_of(device))));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return to_c10({index_of(device), device::kDefaultStream});
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool is_high_priority) const override {
    return getNewStream(device, is_high_priority ? -1 : 0);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    initialize();
    return to_c10(device::stream_from_pool(index_of(device), priority));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const device::StreamRef next = from_c10(stream);
    const c10::Stream previous = getStream(stream.device());
    set_current_stream(next);
    return previous;
  }
  void* getStreamNativeHandle(const c10::Stream stream) const override {
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override {
    const device::StreamRef ref = from_c10(stream);
    if (device::is_capturing(ref)) [[unlikely]] {
      const std::string message =
          "stream query: operation not permitted when stream is capturing; end the capture first";
      device::invalidate_capture(ref, message);
      check(device::Status::error(device::StatusCode::kCapture, message));
    }
    return device::query(ref);
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    runtime::synchronize(from_c10(stream));
  }
  bool isStreamCapturing(const c10::Stream& stream) const override {
    return device::is_capturing(from_c10(stream));
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override {
    check(device::synchronize_device(index_of(device_at(index))));
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    record_stream(data, from_c10(stream));
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex index,
              const c10::EventFlag flag) const override {
    const device::StreamRef ref = from_c10(stream);
    TORCH_CHECK(index < 0 || index == ref.device, "Event device ", static_cast<int>(index),
                " does not match recording stream's device ", ref.device, ".");
    initialize();
    if (*event == nullptr) {
      *event = new device::Event(ref.device, flag == c10::EventFlag::BACKEND_DEFAULT);
    }
    check(event_of(*event)->record(ref));
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) {
      check(event_of(event)->wait(from_c10(stream)));
    }
  }
  bool queryEvent(void* event) const override {
    bool done = true;
    if (event != nullptr) {
      check(event_of(event)->user_query(&done));
    }
    return done;
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      check(event_of(event)->synchronize());
    }
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete event_of(event);
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(start != nullptr && end != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    double milliseconds = 0;
    check(device::Event::elapsed_ms(*event_of(start), *event_of(end), &milliseconds));
    return milliseconds;
  }
};

}  // namespace

void register_guard() {
  static const auto* guard = new GuardImpl();  // leaked, as c10 asks
  c10::impl::registerDeviceGuard(c10::DeviceType::PrivateUse1, guard);
}

}  // namespace spyre::runtime
