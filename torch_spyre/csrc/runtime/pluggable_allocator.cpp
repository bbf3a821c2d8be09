#include "runtime/pluggable_allocator.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "device/work.h"
#include "runtime/current.h"

namespace spyre::runtime {

namespace {

struct Allocation {
  std::size_t nbytes = 0;
  device::StreamRef stream;
};

std::atomic<PluggableAlloc> g_alloc{nullptr};
PluggableFree g_free = nullptr;
std::mutex g_mutex;

// The context of a DataPtr is its address (raw_allocate asks for that), so sizes are kept here.
std::unordered_map<void*, Allocation>& allocations() {
  static auto* map = new std::unordered_map<void*, Allocation>();  // leaked: used until the end
  return *map;
}

void* handle_of(device::StreamRef stream) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(stream.id));
}

void free_pluggable(void* address) {
  if (address == nullptr) {
    return;
  }
  Allocation allocation;
  {
    std::lock_guard lock(g_mutex);
    auto found = allocations().find(address);
    allocation = found->second;
    allocations().erase(found);
  }
  // Queued work may still use the memory: it goes back in stream order, as in the caching
  // allocator.
  const auto give_back = [address, allocation] {
    g_free(address, allocation.nbytes, allocation.stream.device, handle_of(allocation.stream));
  };
  if (!device::is_idle(allocation.stream) &&
      device::enqueue(allocation.stream, device::Engine::kCompute,
                      device::make_work("pluggable_free", give_back))
          .is_ok()) {
    return;
  }
  give_back();
}

}  // namespace

void set_pluggable_allocator(PluggableAlloc alloc, PluggableFree free) {
  TORCH_CHECK(!is_initialized(),
              "Can't swap an already initialized allocator: call "
              "change_current_allocator() before the first use of the device");
  g_free = free;
  g_alloc.store(alloc, std::memory_order_release);
}

bool has_pluggable_allocator() { return g_alloc.load(std::memory_order_acquire) != nullptr; }

c10::DataPtr allocate_pluggable(std::size_t nbytes, device::StreamRef stream) {
  const c10::Device device(c10::DeviceType::PrivateUse1,
                           static_cast<c10::DeviceIndex>(stream.device));
  if (nbytes == 0) {
    return {nullptr, nullptr, &free_pluggable, device};
  }
  void* address = g_alloc.load()(nbytes, stream.device, handle_of(stream));
  TORCH_CHECK_WITH(OutOfMemoryError, address != nullptr,
                   "Spyre out of memory. The pluggable allocator gave no memory for ", nbytes,
                   " bytes on ", device, ".");
  std::lock_guard lock(g_mutex);
  allocations()[address] = {nbytes, stream};
  return {address, address, &free_pluggable, device};
}

c10::DeleterFnPtr pluggable_deleter() { return &free_pluggable; }

}  // namespace spyre::runtime
