// Measures the ways of computing one product.
//
// Note [Close enough]: solutions sum in other orders, so results differ by rounding. Both errors
// are relative to the sums' terms, not to a result that cancelled, hence an absolute tolerance that
// grows with the largest result.
#include <ATen/Parallel.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "runtime/tunable.h"
#include "runtime/tunable_file.h"

namespace spyre::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// A solution replaces the best one so far only when it is faster by more than the noise of the
// measurement.
constexpr double kGain = 0.97;
// One that took longer than this in its first run is not measured further.
constexpr double kHopeless = 3;
constexpr int kBatches = 3;  // the best of so many averages counts

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A copy that lies in memory as the original; what is broadcast stays.
at::Tensor copy_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const auto strides = tensor.strides();
  if (std::find(strides.begin(), strides.end(), 0) != strides.end()) return tensor;
  return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
}

std::int64_t bytes_of(const Product& p) {
  std::int64_t bytes = 0;
  for (const at::Tensor* tensor : {&p.self, &p.a, &p.b, &p.out}) {
    if (tensor->defined()) bytes += static_cast<std::int64_t>(tensor->nbytes());
  }
  return std::max<std::int64_t>(bytes, 1);
}

// Operand sets that are used in turn, so that no run finds all of its operands in the cache.
std::vector<Product> rotation(const Product& p, const TunableSettings& settings) {
  const std::int64_t sets =
      std::clamp<std::int64_t>(rotating_buffer_bytes(settings) / bytes_of(p), 1,
                               std::max<std::int64_t>(settings.max_tuning_iterations, 1));
  std::vector<Product> products;
  for (std::int64_t i = 0; i < sets; ++i) {
    const at::Tensor out =
        at::empty_strided(p.out.sizes(), p.out.strides(), p.out.options()).zero_();
    const bool in_place = p.self.defined() && p.self.is_alias_of(p.out);
    products.push_back({i > 0 || in_place ? copy_of(p.self) : p.self, i > 0 ? copy_of(p.a) : p.a,
                        i > 0 ? copy_of(p.b) : p.b, out, p.beta, p.alpha});
  }
  return products;
}

std::pair<double, double> default_tolerances(at::ScalarType dtype) {  // atol, rtol
  switch (dtype) {
    case at::kHalf:
      return {1e-5, 1e-3};
    case at::kBFloat16:
      return {1e-5, 1.6e-2};
    case at::kDouble:
    case at::kComplexDouble:
      return {1e-7, 1e-7};
    default:
      return {1e-5, 1.3e-6};
  }
}

bool is_close(const at::Tensor& result, const at::Tensor& expected,
              const TunableSettings& settings) {
  const auto wide = c10::isComplexType(expected.scalar_type()) ? at::kComplexDouble : at::kDouble;
  const at::Tensor a = result.to(wide), b = expected.to(wide);
  if (settings.tolerances) {
    const auto [atol, rtol] = *settings.tolerances;
    return at::allclose(a, b, rtol, atol, /*equal_nan=*/true);
  }
  const auto [atol, rtol] = default_tolerances(expected.scalar_type());
  const at::Tensor size = b.abs();
  const double largest =
      at::where(at::isfinite(size), size, at::zeros_like(size)).max().item<double>();
  return at::allclose(a, b, rtol, atol * std::max(largest, 1e-30), /*equal_nan=*/true);
}

// Milliseconds a run, or a negative number when the solution is not worth more time.
double measure(const GemmSolution& solution, const std::vector<Product>& products,
               const TunableSettings& settings, double best, double first) {
  if (best > 0 && first > kHopeless * best) return -1;
  std::size_t next = 0;
  const auto run = [&] { solution.run(products[next++ % products.size()]); };
  const auto repeat = [&](double milliseconds, std::int64_t iterations) {
    const auto start = Clock::now();
    std::int64_t done = 0;
    while (done < iterations && milliseconds_since(start) < milliseconds) {
      run();
      ++done;
    }
    return done > 0 ? milliseconds_since(start) / static_cast<double>(done) : -1;
  };
  if (settings.max_warmup_iterations > 0 || settings.max_warmup_ms > 0) {
    repeat(settings.max_warmup_ms > 0 ? static_cast<double>(settings.max_warmup_ms) : 1e9,
           settings.max_warmup_iterations > 0 ? settings.max_warmup_iterations : 1'000'000);
  }
  double fastest = first;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double time =
        repeat(static_cast<double>(settings.max_tuning_ms) / kBatches,
               std::max<std::int64_t>(1, settings.max_tuning_iterations / kBatches));
    if (time > 0) fastest = std::min(fastest, time);
  }
  return fastest;
}

}  // namespace

TunedResult tune(const GemmKey& key, const Product& product, const TunableSettings& settings) {
  const c10::impl::ExcludeDispatchKeyGuard no_autograd(
      c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  const std::vector<Product> products = rotation(product, settings);
  at::Tensor expected;
  TunedResult best{key, &default_solution(), 0};
  for (const GemmSolution& solution : gemm_solutions()) {
    if (!solution.applies(key)) continue;
    const char* verdict = "";
    double time = -1;
    try {
      solution.run(products[0]);  // code and scratch memory are there now
      const auto start = Clock::now();
      solution.run(products[0]);
      const double first = milliseconds_since(start);
      if (!expected.defined()) {
        expected = products[0].out.clone();
      } else if (settings.check_numerics && !is_close(products[0].out, expected, settings)) {
        verdict = " (result differs too much)";
      }
      if (*verdict == 0) time = measure(solution, products, settings, best.milliseconds, first);
    } catch (const std::exception&) {
      if (!expected.defined()) throw;  // the default way: the caller's error
      verdict = " (cannot compute this product)";
    }
    if (settings.verbose) {
      std::fprintf(stderr, "torch.spyre.tunable: %s,%s,%s,%g%s\n", key.name().c_str(),
                   key.parameters().c_str(), solution.name, time, verdict);
    }
    if (time > 0 && (best.milliseconds == 0 || time < kGain * best.milliseconds)) {
      best.solution = &solution;
      best.milliseconds = time;
    }
  }
  return best;
}

}  // namespace spyre::runtime
