// An allocator that the user brings in a shared library, instead of the caching one.
#pragma once
#include <c10/core/Allocator.h>

#include <cstddef>

#include "device/allocator.h"
#include "device/stream.h"

namespace spyre::runtime {

// Signatures as for torch.xpu.memory.XPUPluggableAllocator; `stream` is the stream's id.
using PluggableAlloc = void* (*)(std::size_t nbytes, int device, void* stream);
using PluggableFree = void (*)(void* address, std::size_t nbytes, int device, void* stream);

struct PluggableFunctions {
  PluggableAlloc alloc = nullptr;
  PluggableFree free = nullptr;
};

// Serves all later allocations. Throws RuntimeError once the device has been used.
void set_pluggable_allocator(PluggableFunctions functions);
bool has_pluggable_allocator();

// A pool with functions of its own: they serve this thread's allocations on `card` until end. The
// card's statistics count that memory, for the pool.
void begin_pluggable_pool(int card, device::MempoolId pool, PluggableFunctions functions);
void end_pluggable_pool();

// Whether user's functions serve the calling thread's next allocation on `card`; one relaxed load
// in a process that has none.
bool uses_pluggable(int card);
// Throws torch.OutOfMemoryError when the user's function gives null.
c10::DataPtr allocate_pluggable(std::size_t nbytes, device::StreamRef stream);
// Frees what allocate_pluggable() gave; false for any other address.
bool free_if_pluggable(void* address);

}  // namespace spyre::runtime
