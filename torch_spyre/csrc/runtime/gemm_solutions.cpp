#include "runtime/gemm_solutions.h"

#include <ATen/Parallel.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/sum.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <omp.h>

#include <algorithm>

// Exported by libtorch_cpu, in no installed header: result = beta * result + alpha * a @ b.
namespace at::native {
void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& result, float beta, float alpha);
}

namespace spyre::runtime {
namespace {

using Kind = GemmKey::Kind;

bool always(const GemmKey&) { return true; }
bool is_batched(const GemmKey& key) { return key.kind == Kind::kBatched; }
bool has_several_threads() { return at::get_num_threads() > 1; }
bool is_sixteen_bit(const GemmKey& key) {
  return key.dtype == at::kHalf || key.dtype == at::kBFloat16;
}

void run_default(const Product& p) {
  at::Tensor out = p.out;
  if (!p.self.defined()) {
    p.a.dim() == 2 ? at::cpu::mm_outf(p.a, p.b, out) : at::cpu::bmm_outf(p.a, p.b, out);
  } else if (p.a.dim() == 2) {
    at::cpu::addmm_outf(p.self, p.a, p.b, p.beta, p.alpha, out);
  } else {
    at::cpu::baddbmm_outf(p.self, p.a, p.b, p.beta, p.alpha, out);
  }
}

// `self` along dimension `dim` (negative) of the result, unless it is broadcast there.
at::Tensor part_of_self(const at::Tensor& self, std::int64_t dim, std::int64_t size,
                        std::int64_t begin, std::int64_t length) {
  if (!self.defined() || self.dim() < -dim || self.size(dim) != size || size == 1) return self;
  return self.narrow(dim, begin, length);
}

// The rows, columns or matrices [begin, begin + length) of a product.
Product rows(const Product& p, std::int64_t begin, std::int64_t length) {
  return {part_of_self(p.self, -2, p.out.size(-2), begin, length),
          p.a.narrow(-2, begin, length),
          p.b,
          p.out.narrow(-2, begin, length),
          p.beta,
          p.alpha};
}
Product columns(const Product& p, std::int64_t begin, std::int64_t length) {
  return {part_of_self(p.self, -1, p.out.size(-1), begin, length),
          p.a,
          p.b.narrow(-1, begin, length),
          p.out.narrow(-1, begin, length),
          p.beta,
          p.alpha};
}
Product matrices(const Product& p, std::int64_t begin, std::int64_t length) {
  return {part_of_self(p.self, -3, p.out.size(0), begin, length),
          p.a.narrow(0, begin, length),
          p.b.narrow(0, begin, length),
          p.out.narrow(0, begin, length),
          p.beta,
          p.alpha};
}

// Calls part(begin, length) for one piece of [0, size) per thread; the libraries below see that
// they are inside a parallel region and use one thread each.
template <class F>
void one_piece_per_thread(std::int64_t size, F part) {
  const std::int64_t threads = at::get_num_threads();
  at::parallel_for(0, size, std::max<std::int64_t>(1, (size + threads - 1) / threads),
                   [&](std::int64_t begin, std::int64_t end) {
                     const c10::impl::ExcludeDispatchKeyGuard no_autograd(
                         c10::autograd_dispatch_keyset_with_ADInplaceOrView);
                     part(begin, end - begin);
                   });
}

void run_one_thread(const Product& p) {
  const int threads = at::get_num_threads();
  omp_set_num_threads(1);
  struct Restore {
    int threads;
    ~Restore() { omp_set_num_threads(threads); }
  } const restore{threads};
  run_default(p);
}

void run_split_rows(const Product& p) {
  one_piece_per_thread(p.out.size(-2), [&](std::int64_t begin, std::int64_t length) {
    run_default(rows(p, begin, length));
  });
}
void run_split_columns(const Product& p) {
  one_piece_per_thread(p.out.size(-1), [&](std::int64_t begin, std::int64_t length) {
    run_default(columns(p, begin, length));
  });
}
void run_split_batch(const Product& p) {
  one_piece_per_thread(p.out.size(0), [&](std::int64_t begin, std::int64_t length) {
    run_default(matrices(p, begin, length));
  });
}

void finish(const Product& p, const at::Tensor& product) {
  at::Tensor out = p.out;
  if (!p.self.defined()) {
    out.copy_(product);
  } else if (p.beta.equal(0)) {  // self may hold NaN, which does not count
    out.copy_(product.mul(p.alpha));
  } else {
    at::add_out(out, p.self.mul(p.beta), product, p.alpha);
  }
}

void run_split_k(const Product& p) {
  const std::int64_t k = p.a.size(-1);
  const std::int64_t parts = std::min<std::int64_t>(at::get_num_threads(), k);
  const std::int64_t step = (k + parts - 1) / parts;
  at::Tensor sums = at::empty({(k + step - 1) / step, p.out.size(0), p.out.size(1)},
                              p.out.options().memory_format(std::nullopt));
  one_piece_per_thread(sums.size(0), [&](std::int64_t begin, std::int64_t length) {
    for (std::int64_t i = begin; i < begin + length; ++i) {
      const std::int64_t size = std::min(step, k - i * step);
      at::Tensor sum = sums.select(0, i);
      at::cpu::mm_outf(p.a.narrow(1, i * step, size), p.b.narrow(0, i * step, size), sum);
    }
  });
  finish(p, sums.sum(0));
}

void run_each_matrix(const Product& p) {
  for (std::int64_t i = 0; i < p.out.size(0); ++i) {
    at::Tensor self = part_of_self(p.self, -3, p.out.size(0), i, 1);
    if (self.defined() && self.dim() == 3) self = self.select(0, 0);
    run_default({self, p.a.select(0, i), p.b.select(0, i), p.out.select(0, i), p.beta, p.alpha});
  }
}

void run_one_dnn(const Product& p) {
  const bool adds = p.self.defined() && !p.beta.equal(0);
  at::Tensor out = p.out;
  if (adds && !out.is_same(p.self)) out.copy_(p.self);
  at::native::mkldnn_matmul(p.a, p.b, out, adds ? p.beta.to<float>() : 0.0f,
                            p.self.defined() ? p.alpha.to<float>() : 1.0f);
}

void run_pack_a(const Product& p) {
  run_default({p.self, p.a.contiguous(), p.b, p.out, p.beta, p.alpha});
}
void run_pack_b(const Product& p) {
  run_default({p.self, p.a, p.b.contiguous(), p.out, p.beta, p.alpha});
}

// One rounding at the end instead of one per step.
void run_widen(const Product& p) {
  at::Tensor wide = at::empty(p.out.sizes(), p.out.options().dtype(at::kFloat));
  run_default({p.self.defined() ? p.self.to(at::kFloat) : p.self, p.a.to(at::kFloat),
               p.b.to(at::kFloat), wide, p.beta, p.alpha});
  at::Tensor out = p.out;
  out.copy_(wide);
}

constexpr GemmSolution kSolutions[] = {
    {"Default", always, run_default},
    {"OneThread", [](const GemmKey&) { return has_several_threads(); }, run_one_thread},
    {"SplitM",
     [](const GemmKey& key) { return has_several_threads() && !is_batched(key) && key.m > 1; },
     run_split_rows},
    {"SplitN",
     [](const GemmKey& key) { return has_several_threads() && !is_batched(key) && key.n > 1; },
     run_split_columns},
    {"SplitK",
     [](const GemmKey& key) {
       return has_several_threads() && !is_batched(key) && !is_sixteen_bit(key) &&
              key.k >= 2 * std::max(key.m, key.n);
     },
     run_split_k},
    {"SplitBatch",
     [](const GemmKey& key) { return has_several_threads() && is_batched(key) && key.batch > 1; },
     run_split_batch},
    {"EachMatrix", is_batched, run_each_matrix},
    {"OneDnn", [](const GemmKey& key) { return key.dtype == at::kFloat; }, run_one_dnn},
    {"PackA", [](const GemmKey& key) { return key.a_transposed; }, run_pack_a},
    {"PackB", [](const GemmKey& key) { return key.b_transposed; }, run_pack_b},
    {"Widen", is_sixteen_bit, run_widen},
};

}  // namespace

std::span<const GemmSolution> gemm_solutions() { return kSolutions; }

const GemmSolution* find_solution(std::string_view name) {
  for (const GemmSolution& solution : kSolutions) {
    if (name == solution.name) return &solution;
  }
  return nullptr;
}

}  // namespace spyre::runtime
