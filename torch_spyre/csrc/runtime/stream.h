// Work on streams, as the eager operators and the launcher see it: layer 0's calls with failures
// turned into exceptions.
#pragma once
#include <atomic>
#include <string>
#include <utility>

#include "device/stream.h"
#include "device/work.h"
#include "runtime/current.h"
#include "runtime/exception.h"

namespace spyre::runtime {

// True when the caller may run small work itself, at once, on this thread (device/stream.h, Note
// [Inline execution]). Throws the stream's pending error.
inline bool may_run_inline(device::StreamRef stream) {
  bool inline_ok = false;
  check(device::may_run_inline(stream, &inline_ok));
  return inline_ok;
}

// Appends `fn` to the stream and returns. fn() gives void or device::Status, may run more than
// once (capture), must own everything that is not memory of the card's pool, and must not need
// the GIL. An exception that leaves it becomes the stream's error.
template <class F>
void enqueue(device::StreamRef stream, device::Engine engine, std::string name, F fn) {
  initialize();
  check(device::enqueue(stream, engine, device::make_work(std::move(name), std::move(fn))));
}
template <class F>
void enqueue_compute(device::StreamRef stream, std::string name, F fn) {
  enqueue(stream, device::Engine::kCompute, std::move(name), std::move(fn));
}
template <class F>
void enqueue_dma(device::StreamRef stream, std::string name, F fn) {
  enqueue(stream, device::Engine::kDma, std::move(name), std::move(fn));
}

// Waits for the stream and throws its error. Releases the GIL while it waits, if held.
inline void synchronize(device::StreamRef stream) { check(device::synchronize(stream)); }
// An operation that waits without being asked to (item(), a copy to pageable memory) says so
// first, even when nothing is pending: torch.spyre.set_sync_debug_mode makes it warn or raise.
// `what` names the operation.
enum class SyncDebugMode : int { kDefault = 0, kWarn = 1, kError = 2 };
inline constinit std::atomic<SyncDebugMode> g_sync_debug_mode{SyncDebugMode::kDefault};
void report_implicit_wait(const char* what);
inline void note_implicit_wait(const char* what) {
  if (g_sync_debug_mode.load(std::memory_order_relaxed) != SyncDebugMode::kDefault) [[unlikely]] {
    report_implicit_wait(what);
  }
}
inline void synchronize_implicitly(device::StreamRef stream, const char* what) {
  note_implicit_wait(what);
  runtime::synchronize(stream);
}

}  // namespace spyre::runtime
