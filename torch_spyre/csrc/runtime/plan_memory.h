// Packs the temporaries of a launch plan into one workspace.
#pragma once
#include <cstdint>
#include <vector>

namespace spyre::runtime {

// A temporary in use from phase `first` to phase `last`, both inclusive.
struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct Packing {
  std::vector<std::int64_t> offsets;  // per lifetime, multiples of 128 bytes
  std::int64_t total_bytes = 0;
};

// Gives each temporary an offset; two share bytes only when their lifetimes do not meet. Largest
// first into the lowest gap, which stays within a few percent of the peak on real graphs.
Packing pack(const std::vector<Lifetime>& lifetimes);

}  // namespace spyre::runtime
