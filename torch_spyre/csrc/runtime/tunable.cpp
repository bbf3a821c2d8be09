#include "runtime/tunable.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Version.h>
#include <c10/util/Exception.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "device/launch.h"
#include "runtime/tunable_file.h"

namespace spyre::runtime {
namespace {

// `mutex` guards everything; `tuning` is held while a product is measured, so that two threads do
// not measure beside each other. Lock order: tuning, then mutex.
struct Context {
  std::mutex mutex, tuning;
  TunableSettings settings;
  std::string package_version;
  std::unordered_map<GemmKey, TunedResult, GemmKeyHash> results;
  std::vector<GemmKey> order;  // as they were added
  std::unordered_set<GemmKey, GemmKeyHash> untuned;
  bool file_read = false;     // settings.filename
  bool file_refused = false;  // belongs to another machine: it is not written either
  bool file_started = false;  // has its header

  void add(const TunedResult& result) {
    if (results.insert_or_assign(result.key, result).second) order.push_back(result.key);
  }
  std::vector<TunedResult> all() const {
    std::vector<TunedResult> list;
    for (const GemmKey& key : order) list.push_back(results.at(key));
    return list;
  }
};

Context& context() {
  static Context* instance = new Context;  // executors use it until the process ends
  return *instance;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") || line.starts_with("CPU part")) {
      std::string model = line.substr(std::min(line.size(), line.find(':') + 2));
      std::replace(model.begin(), model.end(), ',', ' ');
      return model;
    }
  }
  return "unknown";
}

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  std::replace(line.begin(), line.end(), ',', ' ');
  return line;
}

void warn(const std::string& text) {
  if (!text.empty()) TORCH_WARN("torch.spyre.tunable: ", text);
}

// Reads the results file before the first product. Returns a warning.
std::string prepare(Context& all) {
  std::lock_guard lock(all.mutex);
  if (all.file_read) return "";
  all.file_read = true;
  all.file_refused = all.file_started = false;
  if (all.settings.filename.empty()) return "";
  const Validators expected = tunable_validators();
  const ResultsFile file = read_results_file(all.settings.filename, expected);
  if (!file.exists) return "";
  all.file_refused = !file.refusal.empty();
  all.file_started = true;
  for (const TunedResult& result : file.results) all.add(result);
  return file.refusal + (all.file_refused ? "; new results are not written to it" : "");
}

const GemmSolution* recorded(Context& all, const GemmKey& key) {
  std::lock_guard lock(all.mutex);
  const auto found = all.results.find(key);
  return found == all.results.end() ? nullptr : found->second.solution;
}

std::string record(Context& all, const TunedResult& result) {
  std::lock_guard lock(all.mutex);
  all.add(result);
  if (!all.settings.write_results || all.file_refused || all.settings.filename.empty()) return "";
  std::string lines = line_of(result);
  if (!all.file_started) lines = header_of(tunable_validators()) + lines;
  all.file_started = true;
  return append_to_file(all.settings.filename, lines);
}

std::string record_untuned(Context& all, const GemmKey& key, const TunableSettings& settings) {
  std::lock_guard lock(all.mutex);
  if (!all.untuned.insert(key).second) return "";
  return append_to_file(settings.untuned_filename, key.name() + "," + key.parameters() + "\n");
}

const GemmSolution* choose(Context& all, const GemmKey& key, const Product& product,
                           std::string* warning) {
  const TunableSettings settings = tunable_settings();
  if (settings.tuning) {
    std::lock_guard lock(all.tuning);
    if (const GemmSolution* solution = recorded(all, key)) return solution;  // by another thread
    const TunedResult result = tune(key, product, settings);
    *warning = record(all, result);
    return result.solution;
  }
  if (settings.record_untuned) *warning = record_untuned(all, key, settings);
  return &default_solution();
}

}  // namespace

TunableSettings tunable_settings() {
  std::lock_guard lock(context().mutex);
  return context().settings;
}

void set_tunable_settings(const TunableSettings& settings) {
  Context& all = context();
  std::lock_guard lock(all.mutex);
  if (settings.filename != all.settings.filename) all.file_read = false;
  all.settings = settings;
}

std::int64_t rotating_buffer_bytes(const TunableSettings& settings) {
  if (settings.rotating_bytes >= 0) return settings.rotating_bytes;
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long bytes = ::sysconf(level); bytes > 0) return bytes;
  }
  return 0;
}

Validators tunable_validators() {
  // Without the context's mutex: the version is set once, before anything is enabled.
  return {{"PT_VERSION", TORCH_VERSION},
          {"SPYRE_VERSION", context().package_version},
          {"CPU_MODEL", cpu_model()},
          {"CPU_CAPABILITY", at::get_cpu_capability()},
          {"MKL_VERSION", first_line(at::get_mkl_version())},
          {"ONEDNN_VERSION", first_line(at::get_mkldnn_version())},
          {"THREADS", std::to_string(device::team_size())}};
}

void set_package_version(const std::string& version) { context().package_version = version; }

std::vector<TunedResult> tuned_results() {
  std::lock_guard lock(context().mutex);
  return context().all();
}

std::string read_tuned_results(const std::string& filename) {
  const ResultsFile file = read_results_file(filename, tunable_validators());
  std::lock_guard lock(context().mutex);
  for (const TunedResult& result : file.results) context().add(result);
  return file.refusal;
}

std::string write_tuned_results(const std::string& filename) {
  Context& all = context();
  std::lock_guard lock(all.mutex);
  const std::string why = write_results_file(filename, tunable_validators(), all.all());
  if (why.empty() && filename == all.settings.filename) {
    all.file_read = all.file_started = true;
    all.file_refused = false;
  }
  return why;
}

void run_tuned(const Product& product) {
  const std::optional<GemmKey> key = GemmKey::of(product);
  if (!key) {
    default_solution().run(product);
    return;
  }
  Context& all = context();
  std::string warning = prepare(all);
  const GemmSolution* solution = recorded(all, *key);
  if (solution == nullptr) {
    warn(warning);
    warning.clear();
    solution = choose(all, *key, product, &warning);
  }
  warn(warning);
  solution->run(product);
}

bool run_tuned_operator(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const c10::OperatorName& name = op.operator_name();
  if (name.overload_name != "out") return false;
  const bool batched = name.name == "aten::bmm" || name.name == "aten::baddbmm";
  const bool adds = name.name == "aten::addmm" || name.name == "aten::baddbmm";
  if (!batched && !adds && name.name != "aten::mm") return false;
  const std::size_t first = stack.size() - op.schema().arguments().size();
  const std::size_t factors = first + (adds ? 1 : 0);
  Product p{adds ? stack[first].toTensor() : at::Tensor(), stack[factors].toTensor(),
            stack[factors + 1].toTensor(), stack.back().toTensor()};
  if (adds) {
    p.beta = stack[factors + 2].toScalar();
    p.alpha = stack[factors + 3].toScalar();
  }
  const std::int64_t dims = batched ? 3 : 2;
  if (p.a.dim() != dims || p.b.dim() != dims || p.out.dim() != dims ||
      p.a.size(-1) != p.b.size(-2) || p.out.size(-2) != p.a.size(-2) ||
      p.out.size(-1) != p.b.size(-1) ||
      (batched && (p.a.size(0) != p.b.size(0) || p.out.size(0) != p.a.size(0))) ||
      (adds && (p.self.scalar_type() != p.out.scalar_type() ||
                !at::is_expandable_to(p.self.sizes(), p.out.sizes())))) {
    return false;  // the operator says what is wrong, or resizes
  }
  run_tuned(p);
  stack.resize(first);
  stack.emplace_back(p.out);
  return true;
}

}  // namespace spyre::runtime
