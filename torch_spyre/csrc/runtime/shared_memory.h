// Storages that several processes use. Their memory is a shared segment (Note [Sharing between
// processes] in shared_segment.h); the card's pool has no part in it, so work that uses it owns the
// storage.
#pragma once
#include <ATen/core/TensorBase.h>

#include <cstddef>

#include "runtime/shared_segment.h"

namespace spyre::runtime {

// Makes the storage of a spyre tensor shareable and gives a handle for one receiver. The first call
// waits for the card and moves the storage into shared memory: views stay valid, addresses do not.
// This process keeps the memory until the handle is received; collect_shared_memory() notices that.
// Throws ValueError for a tensor of another device or without memory, RuntimeError when the host
// has no memory.
SharedHandle share_storage(const at::TensorBase& tensor);

// A uint8 tensor of shape [nbytes] on `card` whose storage is the segment. Throws RuntimeError when
// the sender has ended or dropped the memory, or may not be opened.
at::TensorBase open_shared(const SharedHandle& handle, int card);

// Notes the receipt of a handle whose segment this process holds in the storage of `tensor`.
void acknowledge_shared(const at::TensorBase& tensor);

// Drops sent segments that have been received. Gives how many still wait.
std::size_t collect_shared_memory();

}  // namespace spyre::runtime
