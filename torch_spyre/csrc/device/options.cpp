#include "options.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace spyre::device {
namespace {

constexpr int kMaxCards = 64;

[[noreturn]] void reject(const char* variable, std::string_view value,
                         const std::string& expected) {
  throw std::invalid_argument(std::string(variable) + "='" + std::string(value) +
                              "' is not valid: " + expected);
}

// Unset and blank are the same: the default holds.
std::string_view text_of(const char* variable) {
  const char* value = std::getenv(variable);
  std::string_view text = value == nullptr ? "" : value;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

bool parse_whole(std::string_view text, std::int64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

std::int64_t integer(const char* variable, std::int64_t fallback, std::int64_t lower,
                     std::int64_t upper) {
  std::string_view text = text_of(variable);
  if (text.empty()) return fallback;
  std::int64_t value = 0;
  if (!parse_whole(text, &value) || value < lower || value > upper) {
    reject(variable, text,
           "expected an integer from " + std::to_string(lower) + " to " + std::to_string(upper));
  }
  return value;
}

bool flag(const char* variable) {
  std::string_view text = text_of(variable);
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  reject(variable, text, "expected 0 or 1");
}

std::size_t bytes(const char* variable, std::size_t fallback) {
  std::string_view text = text_of(variable);
  if (text.empty()) return fallback;
  std::string_view digits = text;
  int shift = 0;
  const std::string_view suffixes = "KMGT";
  const std::size_t unit =
      suffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
  if (unit != std::string_view::npos) {
    shift = 10 * (static_cast<int>(unit) + 1);
    digits.remove_suffix(1);
  }
  std::int64_t value = 0;
  constexpr std::int64_t kUpper = std::int64_t{1} << 46;
  constexpr std::int64_t kLower = std::int64_t{2} << 20;  // one segment
  if (!parse_whole(digits, &value) || value < 0 || value > (kUpper >> shift) ||
      (value << shift) < kLower) {
    reject(variable, text, "expected bytes from 2M to 64T, optionally with a suffix K, M, G or T");
  }
  return static_cast<std::size_t>(value << shift);
}

// Bytes this process may use: physical memory, or the cgroup's limit when that is lower.
std::size_t host_memory_bytes() {
  std::size_t total = std::size_t{4} << 30;
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  for (std::size_t kilobytes = 0; meminfo >> key >> kilobytes; meminfo.ignore(64, '\n')) {
    if (key == "MemTotal:") {
      total = kilobytes << 10;
      break;
    }
  }
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    std::size_t limit = 0;  // "max" does not parse: no limit
    if (file >> limit && limit > 0) total = std::min(total, limit);
  }
  return total;
}

std::vector<int> visible_cards(int count) {
  std::vector<int> cards;
  const char* raw = std::getenv("SPYRE_VISIBLE_DEVICES");
  if (raw == nullptr) {
    for (int card = 0; card < count; ++card) cards.push_back(card);
    return cards;
  }
  std::string_view text = text_of("SPYRE_VISIBLE_DEVICES");
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view token = text.substr(0, comma);
    while (!token.empty() && token.front() == ' ') token.remove_prefix(1);
    while (!token.empty() && token.back() == ' ') token.remove_suffix(1);
    std::int64_t card = 0;
    if (!parse_whole(token, &card)) {
      reject("SPYRE_VISIBLE_DEVICES", whole, "expected comma-separated card ordinals, such as 0,1");
    }
    if (card < 0 || card >= count) break;
    if (std::find(cards.begin(), cards.end(), card) != cards.end()) {
      reject("SPYRE_VISIBLE_DEVICES", whole, "a card may appear once only");
    }
    cards.push_back(static_cast<int>(card));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return cards;
}

Options read_options() {
  Options result;
  const int count = static_cast<int>(integer("SPYRE_DEVICE_COUNT", 2, 0, kMaxCards));
  result.visible_cards = visible_cards(count);
  const double share = std::min(0.5, 0.8 / std::max(count, 1));
  const auto fallback = static_cast<std::size_t>(static_cast<double>(host_memory_bytes()) * share);
  result.memory_bytes = bytes("SPYRE_MEMORY_BYTES", fallback & ~((std::size_t{2} << 20) - 1));
  result.launch_blocking = flag("SPYRE_LAUNCH_BLOCKING");
  result.poison_freed_memory = flag("SPYRE_POISON_FREED_MEMORY");
  result.num_threads = static_cast<int>(integer("SPYRE_NUM_THREADS", 0, 1, 1024));
  result.queue_limit = static_cast<std::size_t>(integer("SPYRE_QUEUE_LIMIT", 4096, 1, 1 << 20));
  return result;
}

}  // namespace

std::map<std::string, std::string> tunable_environment() {
  std::map<std::string, std::string> result;
  for (const char* variable :
       {"SPYRE_TUNABLEOP_ENABLED", "SPYRE_TUNABLEOP_TUNING", "SPYRE_TUNABLEOP_RECORD_UNTUNED",
        "SPYRE_TUNABLEOP_VERBOSE", "SPYRE_TUNABLEOP_MAX_TUNING_DURATION_MS",
        "SPYRE_TUNABLEOP_MAX_TUNING_ITERATIONS", "SPYRE_TUNABLEOP_MAX_WARMUP_DURATION_MS",
        "SPYRE_TUNABLEOP_MAX_WARMUP_ITERATIONS", "SPYRE_TUNABLEOP_ROTATING_BUFFER_SIZE",
        "SPYRE_TUNABLEOP_FILENAME", "SPYRE_TUNABLEOP_UNTUNED_FILENAME",
        "SPYRE_TUNABLEOP_NUMERICAL_CHECK"}) {
    const std::string_view text = text_of(variable);
    if (!text.empty()) result.emplace(variable, text);
  }
  return result;
}

const Options& options() {
  // Leaked on purpose: engine threads may read it while static destructors run.
  static const Options* const instance = new Options(read_options());
  return *instance;
}

}  // namespace spyre::device
