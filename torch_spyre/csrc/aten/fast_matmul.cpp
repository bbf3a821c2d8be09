// Fast paths of matrix products: no boxed stack, and out= forms whose shape is known to fit, so
// that large ones queue even when the output comes from Python (compiled graphs call them so).
#include <ATen/ops/addmm_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/bmm_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/mm_compositeexplicitautogradnonfunctional_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mm_native.h>

#include "aten/fast_path.h"
#include "runtime/tunable.h"

namespace spyre::aten {
namespace {

namespace slow = at::compositeexplicitautogradnonfunctional;

constexpr std::int64_t kInlineMultiplyAdds = 1 << 20;

bool is_plain_pair(const at::Tensor& a, const at::Tensor& b) {
  return is_spyre(a) && a.device() == b.device() && is_strided(a) && is_strided(b) &&
         a.scalar_type() == b.scalar_type();
}

bool is_small(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() * b.size(-1) <=
         (a.scalar_type() == at::kFloat ? kInlineMultiplyAdds : kInlineMultiplyAdds / 8);
}

// These run on the card's memory as it is; other dtypes and layouts may take oneDNN's way.
bool is_direct(const at::Tensor& self, const at::Tensor& mat2) {
  return self.scalar_type() == at::kFloat && self.is_contiguous() && mat2.is_contiguous() &&
         self.numel() > 0 && mat2.numel() > 0 && is_fast(self) && mat2.numel() <= kFastElements &&
         is_small(self, mat2) && !runtime::tunable_enabled();
}

at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
  if (!is_plain_pair(self, mat2) || self.dim() != 2 || mat2.dim() != 2 ||
      self.size(1) != mat2.size(0)) {
    return OneProfileRow(), slow::mm(self, mat2);
  }
  if (is_direct(self, mat2)) {
    Functional<at::native::structured_mm_out_cpu> op(self.device());
    op.meta(self, mat2);
    SingleThreadScope threads;
    op.impl(self, mat2, op.output);
    return std::move(op.output);
  }
  at::Tensor result = new_tensor({self.size(0), mat2.size(1)}, self.scalar_type(), self.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(
      stream_of(self), "mm", is_small(self, mat2),
      [a = aliases.alias(self), b = aliases.alias(mat2), out = aliases.alias(result)]() mutable {
        if (runtime::tunable_enabled()) [[unlikely]] {
          runtime::run_tuned({{}, a, b, out});
        } else {
          at::cpu::mm_outf(a, b, out);
        }
      });
  return result;
}

at::Tensor bmm(const at::Tensor& self, const at::Tensor& mat2) {
  if (!is_plain_pair(self, mat2) || self.dim() != 3 || mat2.dim() != 3 ||
      self.size(0) != mat2.size(0) || self.size(2) != mat2.size(1)) {
    return OneProfileRow(), slow::bmm(self, mat2);
  }
  at::Tensor result =
      new_tensor({self.size(0), self.size(1), mat2.size(2)}, self.scalar_type(), self.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(
      stream_of(self), "bmm", is_small(self, mat2),
      [a = aliases.alias(self), b = aliases.alias(mat2), out = aliases.alias(result)]() mutable {
        if (runtime::tunable_enabled()) [[unlikely]] {
          runtime::run_tuned({{}, a, b, out});
        } else {
          at::cpu::bmm_outf(a, b, out);
        }
      });
  return result;
}

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                 const at::Scalar& beta, const at::Scalar& alpha) {
  const bool fits = is_plain_pair(mat1, mat2) && is_plain_pair(mat1, self) && mat1.dim() == 2 &&
                    mat2.dim() == 2 && mat1.size(1) == mat2.size(0) &&
                    (self.dim() == 1 ? self.size(0) == mat2.size(1) || self.size(0) == 1
                                     : self.dim() == 2 && self.size(0) == mat1.size(0) &&
                                           self.size(1) == mat2.size(1));
  if (!fits) {
    return OneProfileRow(), slow::addmm(self, mat1, mat2, beta, alpha);
  }
  at::Tensor result = new_tensor({mat1.size(0), mat2.size(1)}, mat1.scalar_type(), mat1.device());
  AliasSet aliases(Ownership::kBorrowPool);
  run_or_queue(stream_of(mat1), "addmm", is_small(mat1, mat2),
               [bias = aliases.alias(self), a = aliases.alias(mat1), b = aliases.alias(mat2),
                out = aliases.alias(result), beta, alpha]() mutable {
                 if (runtime::tunable_enabled()) [[unlikely]] {
                   runtime::run_tuned({bias, a, b, out, beta, alpha});
                 } else {
                   at::cpu::addmm_outf(bias, a, b, beta, alpha, out);
                 }
               });
  return result;
}

}  // namespace

void register_fast_matmul(torch::Library& library) {
  library.impl("mm", TORCH_FN(mm));
  library.impl("bmm", TORCH_FN(bmm));
  library.impl("addmm", TORCH_FN(addmm));
}

}  // namespace spyre::aten
