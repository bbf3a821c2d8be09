// Whether any thread captures a graph, for operators that must do something else then.
#pragma once
#include <atomic>

namespace spyre::runtime {

inline constinit std::atomic<int> g_captures{0};
inline bool any_capture() { return g_captures.load(std::memory_order_relaxed) != 0; }

}  // namespace spyre::runtime
