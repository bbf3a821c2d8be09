// What the emulated card is. Figures of the real card: docs cited in ARCHITECTURE.md.
#pragma once
#include <cstddef>
#include <string>

namespace spyre::device {

inline constexpr int kCoresPerCard = 32;
inline constexpr std::size_t kLxBytesPerCore = std::size_t{2} << 20;
inline constexpr std::size_t kLxUsableBytes = 1625344;  // after program area and planner reserve
inline constexpr std::size_t kStickBytes = 128;

struct Properties {
  std::string name;  // "Emulated Spyre"
  int major = 1;
  int minor = 0;
  int core_count = kCoresPerCard;
  std::size_t lx_bytes_per_core = kLxBytesPerCore;
  std::size_t stick_bytes = kStickBytes;
  std::size_t total_memory_bytes = 0;  // enforced capacity: a safe share of host memory
  std::string uuid;                    // stable per card index and process
};

// SPYRE_VISIBLE_DEVICES / SPYRE_DEVICE_COUNT, default 2. This is where a bad SPYRE_* variable shows
// first: std::invalid_argument naming the variable.
int device_count();
const Properties& properties(int device);  // std::out_of_range outside [0, device_count())

}  // namespace spyre::device
