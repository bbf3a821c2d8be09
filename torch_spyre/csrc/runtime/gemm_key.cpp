#include "runtime/gemm_key.h"

#include <c10/util/hash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace spyre::runtime {
namespace {

constexpr std::array<std::pair<GemmKey::Kind, std::string_view>, 3> kKinds = {{
    {GemmKey::Kind::kGemm, "GemmTunableOp"},
    {GemmKey::Kind::kGemmAndBias, "GemmAndBiasTunableOp"},
    {GemmKey::Kind::kBatched, "GemmStridedBatchedTunableOp"},
}};
constexpr std::array<std::pair<at::ScalarType, std::string_view>, 6> kDtypes = {{
    {at::kFloat, "float"},
    {at::kDouble, "double"},
    {at::kHalf, "Half"},
    {at::kBFloat16, "BFloat16"},
    {at::kComplexFloat, "c10::complex<float>"},
    {at::kComplexDouble, "c10::complex<double>"},
}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.first == value; });
  return row == table.end() ? std::string_view() : row->second;
}
template <class Table>
auto find_name(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.second == name; });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool positive(std::string_view text, std::int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out > 0;
}

// How the last two dimensions lie: stored by rows, or by columns. False: neither.
bool lies(const at::Tensor& matrix, bool* transposed, std::int64_t* ld) {
  const std::int64_t rows = matrix.size(-2), columns = matrix.size(-1);
  const std::int64_t down = matrix.stride(-2), across = matrix.stride(-1);
  if ((across == 1 || columns == 1) && (rows == 1 || down >= columns)) {
    *transposed = false;
    *ld = rows == 1 ? columns : down;
    return true;
  }
  if ((down == 1 || rows == 1) && (columns == 1 || across >= rows)) {
    *transposed = true;
    *ld = columns == 1 ? rows : across;
    return true;
  }
  return false;
}

}  // namespace

std::string GemmKey::name() const {
  std::string text(name_in(kKinds, kind));
  text += '_';
  text += name_in(kDtypes, dtype);
  text += '_';
  text += b_transposed ? 'T' : 'N';
  text += a_transposed ? 'T' : 'N';
  return text;
}

std::string GemmKey::parameters() const {
  std::string text{b_transposed ? 't' : 'n', a_transposed ? 't' : 'n'};
  for (const std::int64_t size : {n, m, k}) text += '_' + std::to_string(size);
  if (kind == Kind::kBatched) text += "_B_" + std::to_string(batch);
  text += "_ld";
  for (const std::int64_t size : {ldb, lda, ldc}) text += '_' + std::to_string(size);
  return text;
}

std::optional<GemmKey> GemmKey::parse(const std::string& name, const std::string& parameters) {
  const auto words = split(name, '_');
  const auto fields = split(parameters, '_');
  if (words.size() != 3) return std::nullopt;
  const auto kind = find_name(kKinds, words[0]);
  const auto dtype = find_name(kDtypes, words[1]);
  if (kind == kKinds.end() || dtype == kDtypes.end()) return std::nullopt;
  GemmKey key;
  key.kind = kind->first;
  key.dtype = dtype->first;
  key.b_transposed = words[2].starts_with('T');
  key.a_transposed = words[2].ends_with('T');
  const std::size_t sizes = key.kind == Kind::kBatched ? 6 : 4;  // where "ld" stands
  if (fields.size() != sizes + 4 || !positive(fields[1], &key.n) || !positive(fields[2], &key.m) ||
      !positive(fields[3], &key.k) || !positive(fields[sizes + 1], &key.ldb) ||
      !positive(fields[sizes + 2], &key.lda) || !positive(fields[sizes + 3], &key.ldc) ||
      (key.kind == Kind::kBatched && !positive(fields[5], &key.batch))) {
    return std::nullopt;
  }
  // What was read is a key when it is written the same way.
  if (key.name() != name || key.parameters() != parameters) return std::nullopt;
  return key;
}

std::optional<GemmKey> GemmKey::of(const Product& product) {
  const auto &a = product.a, &b = product.b, &out = product.out;
  GemmKey key;
  key.dtype = out.scalar_type();
  bool out_transposed = false;
  if (name_in(kDtypes, key.dtype).empty() || a.scalar_type() != key.dtype ||
      b.scalar_type() != key.dtype || a.is_conj() || b.is_conj() || a.is_neg() || b.is_neg() ||
      a.numel() == 0 || b.numel() == 0 || !lies(a, &key.a_transposed, &key.lda) ||
      !lies(b, &key.b_transposed, &key.ldb) || !lies(out, &out_transposed, &key.ldc) ||
      out_transposed) {
    return std::nullopt;
  }
  key.m = a.size(-2);
  key.k = a.size(-1);
  key.n = b.size(-1);
  if (a.dim() == 3) {
    key.kind = Kind::kBatched;
    key.batch = a.size(0);
  } else if (product.self.defined() && (product.self.dim() < 2 || product.self.size(0) < key.m)) {
    key.kind = Kind::kGemmAndBias;
  }
  return key;
}

std::size_t GemmKeyHash::operator()(const GemmKey& key) const noexcept {
  std::size_t seed = static_cast<std::size_t>(key.kind) * 64 +
                     static_cast<std::size_t>(key.dtype) * 4 + key.a_transposed * 2u +
                     key.b_transposed;
  for (const std::int64_t size : {key.m, key.n, key.k, key.batch, key.lda, key.ldb, key.ldc}) {
    seed = c10::hash_combine(seed, static_cast<std::size_t>(size));
  }
  return seed;
}

}  // namespace spyre::runtime
