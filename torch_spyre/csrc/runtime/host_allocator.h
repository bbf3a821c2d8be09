// Pinned host memory as PyTorch's HostAllocator.
#pragma once
#include <c10/core/Allocator.h>

#include <cstdint>

namespace spyre::runtime {

c10::Allocator* pinned_allocator();
void register_host_allocator();

// Requests that reset_accumulated_stats() has taken out of the totals, and that reset itself.
std::int64_t pinned_requests_base();
void reset_pinned_requests();

}  // namespace spyre::runtime
