// Pinned host memory: page-aligned, cached, reused only after the streams that used it have passed.
#pragma once
#include <cstddef>
#include <cstdint>

#include "status.h"
#include "stream.h"

namespace spyre::device {

struct PinnedStats {
  std::int64_t allocations_current = 0, allocations_total = 0, segments_current = 0;
  std::int64_t allocated_bytes_current = 0, allocated_bytes_peak = 0, reserved_bytes_current = 0,
               reserved_bytes_peak = 0;
};

Status pinned_allocate(std::size_t nbytes, void** out);
void pinned_free(void* address);
bool is_pinned(const void* address);
void pinned_record_stream(void* address, StreamRef stream);
void pinned_empty_cache();
PinnedStats pinned_stats();
void pinned_reset_peak_stats();

}  // namespace spyre::device
