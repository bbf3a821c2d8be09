// What a tuned product is recorded under: operator, dtype, layout and sizes.
//
// Note [Names in result files]: they are those of torch.cuda.tunable, which counts in columns: the
// second factor comes first. "GemmTunableOp_float_NT", "nt_64_32_16_ld_64_32_64" is a product of
// out [32, 64], a [32, 16] stored transposed, b [16, 64].
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace spyre::runtime {

// out = beta * self + alpha * (a @ b) on CPU tensors over the card's memory, all of one dtype;
// without `self` out = a @ b. Factors are matrices, or batches of matrices of one size.
struct Product {
  at::Tensor self;
  at::Tensor a, b, out;
  c10::Scalar beta = 0, alpha = 1;
};

struct GemmKey {
  enum class Kind : std::uint8_t { kGemm, kGemmAndBias, kBatched };
  Kind kind = Kind::kGemm;
  at::ScalarType dtype = at::kFloat;
  bool a_transposed = false, b_transposed = false;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // elements from one stored row to the next
  bool operator==(const GemmKey&) const = default;

  std::string name() const;        // first field of a line of a results file
  std::string parameters() const;  // second field
  // Empty when the fields are not those of a key.
  static std::optional<GemmKey> parse(const std::string& name, const std::string& parameters);
  // Empty for what has no choice: integers, no elements, strides that BLAS cannot take.
  static std::optional<GemmKey> of(const Product& product);
};

struct GemmKeyHash {
  std::size_t operator()(const GemmKey& key) const noexcept;
};

}  // namespace spyre::runtime
