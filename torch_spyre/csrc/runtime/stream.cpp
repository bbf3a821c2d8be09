#include "runtime/stream.h"

#include <c10/util/Exception.h>

#include <atomic>

namespace spyre::runtime {

namespace {
std::atomic<SyncDebugMode> g_sync_debug_mode{SyncDebugMode::kDefault};
}

void set_sync_debug_mode(SyncDebugMode mode) { g_sync_debug_mode.store(mode); }
SyncDebugMode sync_debug_mode() { return g_sync_debug_mode.load(); }

void synchronize_implicitly(device::StreamRef stream, const char* what) {
  const SyncDebugMode mode = g_sync_debug_mode.load(std::memory_order_relaxed);
  if (mode == SyncDebugMode::kWarn) {
    TORCH_WARN("called a synchronizing Spyre operation: ", what);
  }
  TORCH_CHECK(mode != SyncDebugMode::kError, "called a synchronizing Spyre operation: ", what);
  runtime::synchronize(stream);
}

}  // namespace spyre::runtime
