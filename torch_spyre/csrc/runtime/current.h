// What is current on this thread: the card, and one stream per card. Also the lazy start.
#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <array>
#include <atomic>

#include "device/stream.h"

namespace spyre::runtime {

inline constexpr int kMaxDevices = 64;

struct ThreadCurrent {
  int device = 0;
  std::array<device::StreamId, kMaxDevices> streams{};  // 0 is the default stream
};

inline constinit thread_local ThreadCurrent t_current;
inline constinit std::atomic<bool> g_initialized{false};

// First real use of the device. Throws RuntimeError with CUDA's sentence in a forked child whose
// parent had used the device.
void initialize_slow();
inline void initialize() {
  if (!g_initialized.load(std::memory_order_relaxed)) [[unlikely]] {
    initialize_slow();
  }
}
bool is_initialized();
bool in_bad_fork();

inline int current_device() { return t_current.device; }
// Throws torch.AcceleratorError when out of range. Returns the previous card.
int exchange_device(int index);
inline void set_device(int index) { exchange_device(index); }
// CUDA's maybeExchangeDevice: a negative index changes nothing. Returns the previous card.
int maybe_exchange_device(int index);

// The current stream of a card; -1 names the current card. No check of the index: callers pass a
// tensor's device or the result of current_device().
inline device::StreamRef current_stream(c10::DeviceIndex index = -1) {
  const ThreadCurrent& current = t_current;
  const int device = index < 0 ? current.device : index;
  return {device, current.streams[static_cast<std::size_t>(device)]};
}
// Makes `stream` current for its card; leaves the current card alone.
void set_current_stream(device::StreamRef stream);

inline c10::Stream to_c10(device::StreamRef stream) {
  return c10::Stream(
      c10::Stream::UNSAFE,
      c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(stream.device)),
      stream.id);
}
// Throws ValueError for a stream of another device type or one that was destroyed.
device::StreamRef from_c10(const c10::Stream& stream);

}  // namespace spyre::runtime
