// SPDX-License-Identifier: Apache-2.0
// A machine at one moment, as metrics, as JSON and as a screen.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/live_json.h"
#include "report/live_page.h"
#include "report/metrics_text.h"
#include "report/top_text.h"

namespace headroom::report {
namespace {

using namespace literals;

template <class T>
facts::Fact<T> known(T value) {
  return {std::move(value), facts::Source{"/file", 1, ""}};
}

facts::Holder holder(std::uint64_t pid, std::string command, Bytes vram) {
  facts::Holder one;
  one.pid = pid;
  one.command = std::move(command);
  one.vram = vram;
  return one;
}

// A card of 20 GiB of which 19 are in use, by a command whose name is an attempt at everything.
live::Moment full_card() {
  live::Moment moment;
  facts::Gpu gpu;
  gpu.pci = "0000:03:00.0";
  gpu.name = "AMD Radeon RX 7900 XT";
  gpu.gfx = known(std::string("gfx1100"));
  gpu.integrated = known(false);
  facts::Rung vram;
  vram.name = "vram";
  vram.limit = known(20_GiB);
  vram.used = known(19_GiB);
  vram.applies = vram.binding = true;
  gpu.ladder.rungs = {vram};
  gpu.holders = {holder(7, "</script>\x1b[31m\"\\", 18_GiB), holder(8, "small", 1_GiB)};
  gpu.answers.vram_lost = known(std::uint64_t{2});
  moment.facts.gpus = {gpu};
  moment.sensors.resize(1);
  moment.sensors[0].busy_percent = known(std::uint64_t{41});
  moment.sensors[0].power_microwatts = known(std::uint64_t{213'500'000});
  moment.engines[7]["0000:03:00.0"] = 0.5;
  moment.diagnosis.verdict = findings::Verdict::broken;
  return moment;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, are_in_base_units) {
  const std::string text = metrics_text(full_card(), {.looks = 3});
  for (const char* line : {"headroom_looks_total 3", "headroom_verdict{verdict=\"broken\"} 1",
                           "headroom_verdict{verdict=\"ok\"} 0",
                           "headroom_gpu_free_bytes{gpu=\"0000:03:00.0\",rung=\"vram\"} 1073741824",
                           "headroom_gpu_busy_ratio{gpu=\"0000:03:00.0\"} 0.41",
                           "headroom_gpu_power_watts{gpu=\"0000:03:00.0\"} 213.5",
                           "headroom_gpu_vram_lost_total{gpu=\"0000:03:00.0\"} 2"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(Metrics, what_is_not_known_has_no_sample_and_no_head) {
  const std::string text = metrics_text(full_card(), {});
  EXPECT_EQ(text.find("headroom_gpu_fan_rpm"), std::string::npos);
  EXPECT_EQ(text.find("headroom_gpu_vram_bytes"), std::string::npos);
}

TEST(Metrics, a_label_cannot_end_its_quotes) {
  const std::string text = metrics_text(full_card(), {});
  EXPECT_NE(text.find("command=\"</script>?[31m\\\"\\\\\""), std::string::npos) << text;
}

TEST(Metrics, a_head_is_there_once) {
  const std::string text = metrics_text(full_card(), {});
  const std::string head = "# TYPE headroom_holder_vram_bytes gauge\n";
  const std::size_t first = text.find(head);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(head, first + 1), std::string::npos);
}

TEST(Metrics, of_each_gpu_the_largest_holders_alone) {
  live::Moment moment = full_card();
  moment.facts.gpus[0].holders.assign(300, holder(9, "many", 1_MiB));
  const std::string text = metrics_text(moment, {});
  std::size_t count = 0;
  for (auto at = text.find("\nheadroom_holder_vram_bytes{"); at != std::string::npos;
       at = text.find("\nheadroom_holder_vram_bytes{", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 20U);
  EXPECT_TRUE(has_line(text, "headroom_gpu_holders{gpu=\"0000:03:00.0\"} 300"));
}

TEST(LiveJson, null_is_what_is_not_known) {
  const auto live = live_json(full_card());
  EXPECT_EQ(live["gpus"][0]["free_bytes"], 1073741824);
  EXPECT_EQ(live["gpus"][0]["sensors"]["busy"], 0.41);
  EXPECT_TRUE(live["gpus"][0]["sensors"]["fan_rpm"].is_null());
  EXPECT_EQ(live["gpus"][0]["holders"][0]["engines"], 0.5);
  EXPECT_TRUE(live["gpus"][0]["holders"][1]["engines"].is_null());
}

TEST(LivePage, what_a_process_is_called_cannot_become_markup) {
  const live::Moment moment = full_card();
  const std::string page = live_page(live_json(moment), moment);
  // Those of the page itself: of its data and of its script.
  EXPECT_EQ(page.find("</script>[31m"), std::string::npos);
  std::size_t ends = 0;
  for (auto at = page.find("</script>"); at != std::string::npos;
       at = page.find("</script>", at + 1)) {
    ++ends;
  }
  EXPECT_EQ(ends, 2U);
}

TEST(TopText, says_how_full_and_what_is_left) {
  const std::string text = top_text(full_card(), {false, 100}, 0);
  EXPECT_NE(text.find("19.00 GiB of 20.00 GiB in use (95 %)"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00 GiB for a job that starts now"), std::string::npos) << text;
  EXPECT_NE(text.find("41 %   214 W"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TopText, lists_of_holders_give_way_to_the_screen) {
  live::Moment moment = full_card();
  moment.facts.gpus[0].holders.assign(300, holder(9, "many", 1_MiB));
  const std::string text = top_text(moment, {false, 100}, 24);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24);
  EXPECT_NE(text.find("… and 2"), std::string::npos) << text;
}

TEST(TopText, a_sleeping_gpu_is_said_to_sleep) {
  live::Moment moment = full_card();
  moment.facts.gpus[0].runtime_status = known(std::string("suspended"));
  const std::string text = top_text(moment, {false, 100}, 0);
  EXPECT_NE(text.find("asleep  headroom does not wake it"), std::string::npos) << text;
  EXPECT_EQ(text.find("in use"), std::string::npos) << text;
}

}  // namespace
}  // namespace headroom::report
