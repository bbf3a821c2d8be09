// Tuned products: which way of computing a product is fastest here, measured at its first use.
//
// Note [Where products are tuned]: where the work runs, not where it is called: on the card's
// executor for queued work, on the caller for small work. Nobody waits for a stream, a captured
// product is tuned when its graph is first replayed, and the time is that of the threads that will
// compute it.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gemm_key.h"
#include "runtime/gemm_solutions.h"

namespace spyre::runtime {

struct TunableSettings {
  bool tuning = true;           // measure what has no result yet
  bool record_untuned = false;  // write what has no result yet to untuned_filename
  bool write_results = true;    // append new results to `filename` at once
  bool verbose = false;         // say on stderr what was measured
  std::int64_t max_tuning_ms = 30, max_tuning_iterations = 100;  // per solution
  std::int64_t max_warmup_ms = 0, max_warmup_iterations = 0;
  std::int64_t rotating_bytes =
      -1;  // operands are copied until they fill it; < 0: the host's cache
  // A solution must be this close to the default one. Unset: torch.testing's tolerances for the
  // dtype, the absolute one times the largest result.
  std::optional<std::pair<double, double>> tolerances;  // atol, rtol
  bool check_numerics = true;
  std::string filename;
  std::string untuned_filename = "tunableop_untuned0.csv";
};

struct TunedResult {
  GemmKey key;
  const GemmSolution* solution = nullptr;
  double milliseconds = 0;
};

using Validators = std::vector<std::pair<std::string, std::string>>;

inline constinit std::atomic<bool> g_tunable{false};
inline bool tunable_enabled() { return g_tunable.load(std::memory_order_relaxed); }

TunableSettings tunable_settings();
// A new file name means that its results are read before the next product.
void set_tunable_settings(const TunableSettings& settings);
std::int64_t rotating_buffer_bytes(const TunableSettings& settings);

// What results depend on; a file with others is refused. The package's version comes from Python.
Validators tunable_validators();
void set_package_version(const std::string& version);

std::vector<TunedResult> tuned_results();
// Adds a file's results. Returns why it was refused, as a whole; empty when it was not.
std::string read_tuned_results(const std::string& filename);
// Returns why the file could not be written; empty when it was.
std::string write_tuned_results(const std::string& filename);

// Runs the product: the recorded way, else measures, else the default way.
void run_tuned(const Product& product);
// The same for a call of mm.out, addmm.out, bmm.out or baddbmm.out on CPU tensors; leaves `out` on
// the stack. False, and nothing done, for other operators and for outputs that do not fit.
bool run_tuned_operator(const c10::OperatorHandle& op, torch::jit::Stack& stack);

// Runs the operator's kernel for `key` on CPU tensors; a product the tuned way when that is on.
inline void call_kernel(const c10::OperatorHandle& op, c10::DispatchKey key,
                        torch::jit::Stack* stack) {
  if (!tunable_enabled() || !run_tuned_operator(op, *stack)) [[likely]] {
    op.redispatchBoxed(c10::DispatchKeySet(key), stack);
  }
}

// gemm_tuner.cpp: measures every solution on copies of the operands and returns the fastest.
TunedResult tune(const GemmKey& key, const Product& product, const TunableSettings& settings);

}  // namespace spyre::runtime
