// Pinned host memory as PyTorch's HostAllocator.
#pragma once
#include <c10/core/Allocator.h>

namespace spyre::runtime {

c10::Allocator* pinned_allocator();
void register_host_allocator();

}  // namespace spyre::runtime
