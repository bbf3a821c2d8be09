// The recorded history of the device allocators, with the stacks that caused each entry.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "device/allocator.h"

namespace torch {
struct CapturedTraceback;
}

namespace spyre::runtime {

using TraceKind = device::CachingAllocator::TraceKind;
using Stack = std::shared_ptr<torch::CapturedTraceback>;

struct TraceRecord {
  TraceKind kind = TraceKind::kAlloc;
  std::uintptr_t address = 0;  // for kOom: free bytes of the card
  std::size_t size_bytes = 0;
  device::StreamId stream = 0;
  std::int64_t time_us = 0;  // since the epoch
  Stack stack;               // null when none was taken
  std::string user_metadata;
};

// Which entries carry a stack; names as in torch.cuda.memory._record_memory_history.
enum class StackPolicy { kNever, kState, kAlloc, kAll };

struct HistoryOptions {
  bool keep_trace = true;  // "all"; false keeps only the stacks of live memory
  StackPolicy stacks = StackPolicy::kAll;
  bool cpp_frames = false;
  std::size_t max_entries = SIZE_MAX;  // per card
  std::unordered_set<int> skipped;     // TraceKind values
};

// Thread safe. Recording adds about 2 us to an allocation, for the stack.
void start_memory_history(HistoryOptions options, bool clear);
void stop_memory_history();
// Goes into every later entry.
void set_memory_metadata(std::string text);
std::string memory_metadata();
std::vector<TraceRecord> memory_trace(int device);
// The stack that allocated a live block; null when it was not recorded.
Stack stack_of_block(int device, std::uintptr_t address);

}  // namespace spyre::runtime
