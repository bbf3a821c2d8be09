#include "device/options.h"

#include <cstdio>
#include <stdexcept>

#include "check.h"
#include "child.h"
#include "device/properties.h"

using namespace spyre::device;

namespace {

using Environment = std::vector<std::string>;

std::string report(const Environment& environment) {
  return child::run("print_options", environment).output;
}

}  // namespace

CHILD(print_options) {
  try {
    std::string cards;
    for (int card : options().visible_cards) cards += std::to_string(card) + ",";
    std::printf("count=%d cards=%s blocking=%d poison=%d threads=%d limit=%zu bytes=%zu\n",
                device_count(), cards.c_str(), options().launch_blocking,
                options().poison_freed_memory, options().num_threads, options().queue_limit,
                options().memory_bytes);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::printf("rejected: %s\n", error.what());
    return 3;
  }
}

TEST(options_have_defaults) {
  const std::string text = report({});
  CHECK_CONTAINS(text, "count=2 cards=0,1, blocking=0 poison=0");
  CHECK_CONTAINS(text, "limit=4096");
}

TEST(options_read_the_environment) {
  const std::string text =
      report({"SPYRE_DEVICE_COUNT=4", "SPYRE_LAUNCH_BLOCKING=1", "SPYRE_POISON_FREED_MEMORY=1",
              "SPYRE_NUM_THREADS=3", "SPYRE_QUEUE_LIMIT=16", "SPYRE_MEMORY_BYTES=64m"});
  CHECK_CONTAINS(text,
                 "count=4 cards=0,1,2,3, blocking=1 poison=1 threads=3 limit=16 bytes=67108864");
}

TEST(visible_devices_follow_cuda) {
  CHECK_CONTAINS(report({"SPYRE_VISIBLE_DEVICES=1"}), "count=1 cards=1,");
  CHECK_CONTAINS(report({"SPYRE_VISIBLE_DEVICES=1, 0"}), "count=2 cards=1,0,");
  CHECK_CONTAINS(report({"SPYRE_VISIBLE_DEVICES="}), "count=0");
  CHECK_CONTAINS(report({"SPYRE_VISIBLE_DEVICES=-1"}), "count=0");
  CHECK_CONTAINS(report({"SPYRE_VISIBLE_DEVICES=1,7,0"}), "count=1 cards=1,");
  CHECK_CONTAINS(report({"SPYRE_DEVICE_COUNT=0"}), "count=0");
}

TEST(bad_options_name_the_variable) {
  const std::pair<const char*, const char*> bad[] = {
      {"SPYRE_DEVICE_COUNT", "two"},    {"SPYRE_DEVICE_COUNT", "65"},
      {"SPYRE_LAUNCH_BLOCKING", "yes"}, {"SPYRE_MEMORY_BYTES", "1X"},
      {"SPYRE_MEMORY_BYTES", "-4G"},    {"SPYRE_MEMORY_BYTES", "99999999999T"},
      {"SPYRE_NUM_THREADS", "0"},       {"SPYRE_VISIBLE_DEVICES", "0,0"},
      {"SPYRE_VISIBLE_DEVICES", "a"}};
  for (const auto& [variable, value] : bad) {
    const child::Result result = child::run("print_options", {std::string(variable) + "=" + value});
    CHECK_EQ(result.status, 3);
    CHECK_CONTAINS(result.output, std::string("rejected: ") + variable + "='" + value + "'");
  }
}

TEST(cards_have_properties) {
  CHECK_EQ(properties(0).name, "Emulated Spyre");
  CHECK_EQ(properties(0).core_count, 32);
  CHECK(properties(0).total_memory_bytes > 0);
  CHECK(properties(0).uuid != properties(1).uuid);
  try {
    properties(2);
    CHECK(!"properties(2) must throw");
  } catch (const std::out_of_range& error) {
    CHECK_CONTAINS(error.what(), "invalid device ordinal 2");
  }
}
