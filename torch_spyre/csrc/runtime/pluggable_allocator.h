// An allocator that the user brings in a shared library, instead of the caching one.
#pragma once
#include <c10/core/Allocator.h>

#include <cstddef>

#include "device/stream.h"

namespace spyre::runtime {

// Signatures as for torch.xpu.memory.XPUPluggableAllocator; `stream` is the stream's id.
using PluggableAlloc = void* (*)(std::size_t nbytes, int device, void* stream);
using PluggableFree = void (*)(void* address, std::size_t nbytes, int device, void* stream);

// Serves all later allocations. Throws RuntimeError once the device has been used.
void set_pluggable_allocator(PluggableAlloc alloc, PluggableFree free);
bool has_pluggable_allocator();
// Throws torch.OutOfMemoryError when the user's function gives null.
c10::DataPtr allocate_pluggable(std::size_t nbytes, device::StreamRef stream);
c10::DeleterFnPtr pluggable_deleter();

}  // namespace spyre::runtime
