// The c10 face of the card's caching allocator.
#pragma once
#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <functional>

#include "device/allocator.h"

namespace spyre::runtime {

// The allocator registered for PrivateUse1. allocate() takes the current card and stream; the
// DataPtr's context is the address itself (raw_allocate works). Freed in stream order.
c10::DeviceAllocator* device_allocator();

// Memory of `nbytes` for a card and stream of the caller's choice; nullptr inside for 0 bytes.
// Throws torch.OutOfMemoryError, RuntimeError in a bad fork or for a negative size.
c10::DataPtr allocate_on(std::size_t nbytes, device::StreamRef stream);

// Keeps the block that holds `data` from reuse until `stream` has passed this point; no effect for
// memory that is not the pool's.
void record_stream(const c10::DataPtr& data, device::StreamRef stream);

// Called when an allocation has failed for good, before the exception: card, bytes asked for,
// capacity, free bytes.
using OutOfMemoryObserver = std::function<void(int, std::int64_t, std::int64_t, std::int64_t)>;
void attach_out_of_memory_observer(OutOfMemoryObserver observer);

void register_allocator();

}  // namespace spyre::runtime
