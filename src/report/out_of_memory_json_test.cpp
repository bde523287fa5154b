// SPDX-License-Identifier: Apache-2.0
#include "report/out_of_memory_json.h"

#include <gtest/gtest.h>

#include "allocator/forensics/diagnose.h"
#include "base/document.h"

namespace headroom::report {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

allocator::HeapView view() {
  allocator::HeapView view;
  view.request = {8 * mib, allocator::Component::logits, 0};
  view.capacity_bytes = 8 * mib;
  view.blocks.push_back({.address = 64 * mib,
                         .bytes = 3 * mib,
                         .requested_bytes = 3 * mib - 7,
                         .tag = allocator::Component::weights});
  view.usage.live_bytes = 3 * mib;
  view.usage.live[allocator::Component::weights] = 3 * mib;
  view.free.push_back({67 * mib, 5 * mib, 0, false});
  view.now = 50;
  return view;
}

TEST(OutOfMemoryJson, has_the_walk_over_the_blocks) {
  const Json json = to_json(allocator::diagnose(view()));
  EXPECT_EQ(json["requested_bytes"], 8 * mib);
  EXPECT_EQ(json["component"], "logits");
  EXPECT_EQ(json["heap"]["blocks"], 1);
  EXPECT_EQ(json["heap"]["age_unit"], "events");
  EXPECT_EQ(json["heap"]["ages"][0]["below"], 1000);
  EXPECT_EQ(json["heap"]["ages"][0]["components"]["weights"], 3 * mib);
  EXPECT_EQ(json["heap"]["owners"][0]["bytes"], 3 * mib);
  EXPECT_EQ(json["heap"]["largest_block"]["component"], "weights");
  EXPECT_EQ(json["heap"]["hard_bytes"], mib);
  EXPECT_EQ(json["heap"]["soft_bytes"], 4 * mib);
  EXPECT_EQ(json["heap"]["rounding_bytes"], 7);
}

TEST(OutOfMemoryJson, what_is_not_known_is_null_with_its_reason) {
  const allocator::OutOfMemory bare;
  const Json json = to_json(bare);
  Json missing = Json::object();
  add_missing(bare, "/oom_events/3", missing);
  for (const char* key : {"heap", "outside", "batch"}) {
    EXPECT_TRUE(json[key].is_null());
    EXPECT_TRUE(missing.contains(std::string("/oom_events/3/") + key));
  }
}

TEST(OutOfMemoryJson, what_is_known_of_device_and_batch_is_told) {
  allocator::HeapView known = view();
  known.device_memory = allocator::DeviceMemory{20 * mib, 4 * mib, "hipMemGetInfo"};
  known.usage.reserved_bytes = 8 * mib;
  known.batch = 4;
  known.batch_line = allocator::BatchLine{.per_sample_bytes = 1.0 * mib, .constant_bytes = 3 * mib};
  const allocator::OutOfMemory problem = allocator::diagnose(known);
  const Json json = to_json(problem);
  EXPECT_EQ(json["outside"]["held_bytes"], 8 * mib);
  EXPECT_EQ(json["outside"]["source"], "hipMemGetInfo");
  EXPECT_EQ(json["batch"]["basis"], "proportional");
  EXPECT_EQ(json["batch"]["largest"], 4);
  EXPECT_EQ(json["batch"]["largest_defragmented"], 5);
  Json missing = Json::object();
  add_missing(problem, "", missing);
  EXPECT_TRUE(missing.empty());
}

}  // namespace
}  // namespace headroom::report
