// Every environment variable of layer 0, read once. The only file of csrc with getenv is
// options.cpp.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace spyre::device {

struct Options {
  // SPYRE_DEVICE_COUNT (default 2, at most 64): cards of the host.
  // SPYRE_VISIBLE_DEVICES: comma-separated ordinals, as CUDA_VISIBLE_DEVICES: the list ends at the
  // first ordinal that does not exist; empty or -1 shows none.
  std::vector<int> visible_cards;  // physical ordinal per device index

  // SPYRE_MEMORY_BYTES: capacity of each card; suffix K, M, G, T (powers of 1024) allowed.
  // Default: 80 % of host memory (or of the cgroup's limit) split over the cards, at most 50 %.
  std::size_t memory_bytes = 0;

  bool launch_blocking = false;      // SPYRE_LAUNCH_BLOCKING: every enqueue waits for its work
  bool poison_freed_memory = false;  // SPYRE_POISON_FREED_MEMORY: freed blocks become 0xcb bytes
  int num_threads = 0;               // SPYRE_NUM_THREADS: that share one plan; 0: host cores
  std::size_t queue_limit = 4096;    // SPYRE_QUEUE_LIMIT: entries a card queues before it blocks
};

// Throws std::invalid_argument naming the variable, its value and what is accepted.
const Options& options();

// The SPYRE_TUNABLEOP_* variables that are set, by name, as given. torch_spyre/tunable.py knows
// what they mean: nothing below it does.
std::map<std::string, std::string> tunable_environment();

}  // namespace spyre::device
