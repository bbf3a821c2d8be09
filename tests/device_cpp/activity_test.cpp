#include "device/activity.h"

#include <mutex>
#include <vector>

#include "check.h"
#include "gate.h"

using namespace spyre::device;

namespace {

std::mutex records_mutex;
std::vector<Activity> records;

}  // namespace

TEST(activity_records_each_work_while_a_sink_is_set) {
  const StreamRef stream = create_stream(0, 0);
  CHECK(!activity_enabled());
  CHECK_OK(enqueue(stream, [] {}));
  CHECK_OK(synchronize(stream));
  set_activity_sink([](const Activity& activity) {
    std::lock_guard lock(records_mutex);
    records.push_back(activity);
  });
  CHECK(activity_enabled());
  CHECK_OK(enqueue(stream, [] {}, Engine::kCompute, "kernel_a"));
  CHECK_OK(enqueue(stream, [] {}, Engine::kDma, "copy_b"));
  CHECK_OK(synchronize(stream));
  set_activity_sink(nullptr);
  CHECK_OK(enqueue(stream, [] {}));
  CHECK_OK(synchronize(stream));
  std::lock_guard lock(records_mutex);
  CHECK_EQ(records.size(), 2u);
  if (records.size() != 2) return;
  CHECK_EQ(records[0].name, "kernel_a");
  CHECK_EQ(records[1].name, "copy_b");
  CHECK(records[1].engine == Engine::kDma);
  CHECK(records[0].stream == stream);
  CHECK(records[0].correlation != 0 && records[1].correlation > records[0].correlation);
  for (const Activity& record : records) {
    CHECK(record.enqueued_ns <= record.started_ns && record.started_ns <= record.finished_ns);
  }
  CHECK(records[0].finished_ns <= records[1].started_ns);
  CHECK_OK(destroy_stream(stream));
}

TEST(launches_are_reported_beside_queued_and_inline_runs) {
  static std::vector<Launch> launches;
  const StreamRef stream = create_stream(0, 0);
  records.clear();
  set_activity_sink(
      [](const Activity& activity) {
        std::lock_guard lock(records_mutex);
        records.push_back(activity);
      },
      [](const Launch& launch) { launches.push_back(launch); });
  CHECK_OK(enqueue(stream, [] {}, Engine::kDma, "copy"));
  CHECK_OK(synchronize(stream));
  {
    const InlineActivity activity(stream, Engine::kCompute, "inline");
  }
  set_activity_sink(nullptr);
  {
    const InlineActivity activity(stream, Engine::kCompute, "unseen");
  }
  std::lock_guard lock(records_mutex);
  CHECK_EQ(records.size(), 2u);
  CHECK_EQ(launches.size(), 2u);
  if (records.size() != 2 || launches.size() != 2) return;
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK_EQ(launches[i].correlation, records[i].correlation);
    CHECK(launches[i].engine == records[i].engine);
    CHECK(launches[i].begin_ns <= launches[i].end_ns);
  }
  CHECK(!records[0].inline_run && !launches[0].inline_run);
  CHECK(records[1].inline_run && launches[1].inline_run);
  CHECK_EQ(records[1].name, "inline");
  CHECK_OK(destroy_stream(stream));
}
