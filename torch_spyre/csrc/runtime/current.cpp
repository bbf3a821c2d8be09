#include "runtime/current.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include "device/properties.h"
#include "runtime/exception.h"

namespace spyre::runtime {

namespace {

std::atomic<bool> g_bad_fork{false};

void mark_child_of_fork() {
  if (g_initialized.exchange(false)) {
    g_bad_fork.store(true);
  }
}

}  // namespace

void initialize_slow() {
  TORCH_CHECK(!in_bad_fork(),
              "Cannot re-initialize Spyre in forked subprocess. To use Spyre with "
              "multiprocessing, you must use the 'spawn' start method");
  TORCH_CHECK(device::device_count() > 0,
              "No Spyre devices are available: SPYRE_VISIBLE_DEVICES or SPYRE_DEVICE_COUNT hides "
              "all of them");
  TORCH_CHECK(device::device_count() <= kMaxDevices, "Spyre emulates at most ", kMaxDevices,
              " devices per process, but SPYRE_DEVICE_COUNT asks for ", device::device_count());
  static const int registered = pthread_atfork(nullptr, nullptr, mark_child_of_fork);
  TORCH_CHECK(registered == 0, "Spyre could not register its fork handler");
  g_initialized.store(true);
}

bool is_initialized() { return g_initialized.load(); }

bool in_bad_fork() { return g_bad_fork.load() || device::in_bad_fork(); }

int exchange_device(int index) {
  const int previous = t_current.device;
  if (index != previous) {
    check_device_index(index);
    t_current.device = index;
  }
  return previous;
}

int maybe_exchange_device(int index) {
  return index < 0 ? t_current.device : exchange_device(index);
}

void set_current_stream(device::StreamRef stream) {
  check_device_index(stream.device);
  t_current.streams[static_cast<std::size_t>(stream.device)] = stream.id;
}

device::StreamRef from_c10(const c10::Stream& stream) {
  TORCH_CHECK_VALUE(stream.device_type() == c10::DeviceType::PrivateUse1,
                    "Expected a stream of device type spyre, but got one of ", stream.device());
  const device::StreamRef ref{stream.device_index(), stream.id()};
  check_device_index(ref.device);
  TORCH_CHECK_VALUE(device::is_stream(ref), "Stream ", stream.id(), " does not exist on ",
                    stream.device(), ": it was never created there, or it has been destroyed");
  return ref;
}

}  // namespace spyre::runtime
