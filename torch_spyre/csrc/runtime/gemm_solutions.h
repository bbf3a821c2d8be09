// The ways in which a product may be computed. All give the same sums up to their order.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/gemm_key.h"

namespace spyre::runtime {

struct GemmSolution {
  const char* name;  // as in result files
  bool (*applies)(const GemmKey& key);
  void (*run)(const Product& product);  // throws what ATen throws
};

// The first is "Default": what runs without tuning.
std::span<const GemmSolution> gemm_solutions();
// Null when no solution has this name.
const GemmSolution* find_solution(std::string_view name);
inline const GemmSolution& default_solution() { return gemm_solutions().front(); }

}  // namespace spyre::runtime
