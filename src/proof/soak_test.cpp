// SPDX-License-Identifier: Apache-2.0
#include "proof/soak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::proof {
namespace {

using testing::HasSubstr;

template <class T>
facts::Fact<T> known(T value) {
  return {value, facts::Source{"test", 1, ""}};
}

constexpr std::uint64_t degree = 1000, mega = 1'000'000;

SoakSample sample(double at_s, std::uint64_t degrees, std::uint64_t megahertz) {
  SoakSample one;
  one.at_s = at_s;
  one.junction = degrees * degree;
  one.core_hertz = megahertz * mega;
  one.throttling = facts::Throttling{};
  return one;
}

facts::GpuErrors errors(std::uint64_t uncorrectable, std::uint64_t correctable) {
  facts::GpuErrors found;
  found.ras = {{"gfx", known(std::uint64_t{0}), known(std::uint64_t{0})},
               {"umc", known(uncorrectable), known(correctable)}};
  found.link_corrected = found.link_nonfatal = found.link_fatal = known(std::uint64_t{0});
  found.resets = known(std::uint64_t{2});
  return found;
}

// Ten minutes on a sound card: a product every five seconds, a sample every ten.
SoakRecord healthy() {
  SoakRecord record;
  record.whole_s = 600;
  record.on_gpu = true;
  for (int at = 5; at <= 600; at += 5) record.points.push_back({static_cast<double>(at), 0.002});
  for (int at = 0; at <= 600; at += 10)
    record.samples.push_back(sample(at, at <= 60 ? 60 : 85, 2400));
  record.first.emplace();
  record.first->junction_limit = known(110 * degree);
  record.before = errors(1, 7);
  record.after = errors(1, 7);
  return record;
}

StepResult judge(const SoakRecord& record, const std::string& name) {
  for (const StepResult& one : judge_soak(record)) {
    if (one.name == name) return one;
  }
  throw std::out_of_range(name);
}

TEST(JudgeSoak, sound_card_passes_all) {
  for (const StepResult& one : judge_soak(healthy())) EXPECT_EQ(one.ok, true) << one.name;
}

TEST(JudgeSoak, slow_end_is_found_with_heat_as_its_reason) {
  SoakRecord record = healthy();
  for (SoakPoint& point : record.points) point.seconds = point.at_s > 300 ? 0.003 : 0.002;
  for (SoakSample& one : record.samples) {
    if (one.at_s <= 300) continue;
    one.core_hertz = 1500 * mega;
    one.throttling->temperature = true;
  }
  const StepResult speed = judge(record, "soak-speed");
  EXPECT_EQ(speed.ok, false);
  EXPECT_EQ(speed.cause->id, "slower");
  EXPECT_THAT(speed.cause->title, HasSubstr("too hot"));
  EXPECT_THAT(speed.detail, HasSubstr("2400 to 1500 MHz"));
  EXPECT_NEAR(*speed.figure, -33.3, 0.1);
  EXPECT_EQ(judge(record, "soak-heat").ok, false);
}

TEST(JudgeSoak, reason_of_a_slow_end_is_what_the_driver_tells) {
  SoakRecord record = healthy();
  for (SoakPoint& point : record.points) point.seconds = point.at_s > 300 ? 0.003 : 0.002;
  EXPECT_THAT(judge(record, "soak-speed").cause->title, HasSubstr("at the same clocks"));
  record.samples.back().throttling->power = true;
  EXPECT_THAT(judge(record, "soak-speed").cause->title, HasSubstr("power limit"));
  record.samples.back().throttling.reset();
  for (SoakSample& one : record.samples) {
    if (one.at_s > 300) one.core_hertz = 1500 * mega;
  }
  EXPECT_THAT(judge(record, "soak-speed").cause->title, HasSubstr("as it gets warm"));
  record.samples.clear();
  EXPECT_THAT(judge(record, "soak-speed").cause->title, HasSubstr("over time"));
}

TEST(JudgeSoak, fifth_less_speed_is_what_warmth_takes) {
  SoakRecord record = healthy();
  for (SoakPoint& point : record.points) point.seconds = point.at_s > 300 ? 0.00245 : 0.002;
  EXPECT_EQ(judge(record, "soak-speed").ok, true);
}

TEST(JudgeSoak, processor_is_measured_and_not_judged) {
  SoakRecord record = healthy();
  record.on_gpu = false;
  for (SoakPoint& point : record.points) point.seconds = point.at_s > 300 ? 0.009 : 0.002;
  EXPECT_EQ(judge(record, "soak-speed").ok, true);
  EXPECT_THAT(judge(record, "soak-speed").detail, HasSubstr("not judged"));
}

TEST(JudgeSoak, limit_of_the_junction_is_too_hot) {
  SoakRecord record = healthy();
  record.samples[30].junction = 110 * degree;
  const StepResult heat = judge(record, "soak-heat");
  EXPECT_EQ(heat.ok, false);
  EXPECT_EQ(heat.cause->id, "hw-error");
  EXPECT_EQ(heat.figure, 110);
  record.first->junction_limit = {facts::Missing{facts::Why::not_present, ""}, {}};
  EXPECT_EQ(judge(record, "soak-heat").ok, true);  // No limit is known.
}

TEST(JudgeSoak, only_errors_that_came_meanwhile_count) {
  SoakRecord record = healthy();
  record.after = errors(3, 7);
  const StepResult lost = judge(record, "soak-ras");
  EXPECT_EQ(lost.ok, false);
  EXPECT_EQ(lost.figure, 2);
  EXPECT_EQ(lost.cause->id, "hw-error");
  EXPECT_THAT(lost.detail, HasSubstr("umc"));
  record.after = errors(1, 8);
  EXPECT_THAT(judge(record, "soak-ras").cause->title, HasSubstr("corrected"));
}

TEST(JudgeSoak, counter_that_cannot_be_read_is_skipped_with_its_reason) {
  SoakRecord record = healthy();
  record.before->ras.clear();
  record.before->no_ras = {facts::Why::not_present, ""};
  record.after->link_corrected = record.after->link_nonfatal =
      record.after->link_fatal = {facts::Missing{facts::Why::not_present, ""}, {}};
  record.before->link_corrected = record.after->link_corrected;
  record.after->resets = {facts::Missing{facts::Why::no_permission, ""}, {}};
  record.before->resets = record.after->resets;
  for (const char* name : {"soak-ras", "soak-link", "soak-reset"})
    EXPECT_EQ(judge(record, name).ok, std::nullopt) << name;
  EXPECT_THAT(judge(record, "soak-reset").detail, HasSubstr("no permission"));
}

TEST(JudgeSoak, link_that_loses_data_fails_and_one_that_resends_does_not) {
  SoakRecord record = healthy();
  record.after->link_corrected = known(std::uint64_t{40});
  EXPECT_EQ(judge(record, "soak-link").ok, true);
  record.after->link_nonfatal = known(std::uint64_t{1});
  EXPECT_EQ(judge(record, "soak-link").cause->id, "hw-error");
}

TEST(JudgeSoak, reset_is_found_by_the_counter_or_by_the_kernel) {
  SoakRecord record = healthy();
  record.after->resets = known(std::uint64_t{3});
  EXPECT_EQ(judge(record, "soak-reset").cause->id, "gpu-hang");
  record = healthy();
  record.kernel_read = true;
  EXPECT_EQ(judge(record, "soak-reset").ok, true);
  record.kernel_resets = 1;  // One that kept the memory is in no counter.
  EXPECT_EQ(judge(record, "soak-reset").ok, false);
}

TEST(JudgeSoak, device_that_nobody_watched_is_still_timed) {
  SoakRecord record = healthy();
  record.samples.clear();
  record.first.reset();
  record.before.reset();
  record.after.reset();
  record.why_unwatched = "no reason";
  EXPECT_EQ(judge(record, "soak-speed").ok, true);
  for (const char* name : {"soak-heat", "soak-ras", "soak-link", "soak-reset"})
    EXPECT_EQ(judge(record, name).detail, "no reason") << name;
}

TEST(JudgeSoak, short_load_is_compared_by_its_quarters) {
  EXPECT_EQ(soak_window_s(600), 60);
  EXPECT_EQ(soak_window_s(12), 3);
  SoakRecord record = healthy();
  record.points.clear();
  EXPECT_EQ(judge(record, "soak-speed").ok, std::nullopt);
}

}  // namespace
}  // namespace headroom::proof
