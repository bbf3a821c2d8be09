#include "runtime/stream.h"

#include <c10/util/Exception.h>

namespace spyre::runtime {

void report_implicit_wait(const char* what) {
  TORCH_CHECK(g_sync_debug_mode.load() != SyncDebugMode::kError,
              "called a synchronizing Spyre operation: ", what);
  TORCH_WARN("called a synchronizing Spyre operation: ", what);
}

}  // namespace spyre::runtime
