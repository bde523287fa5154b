// SPDX-License-Identifier: Apache-2.0
#include "tune/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headroom::tune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

knowledge::ServiceKnobs table() {
  auto knobs = knowledge::load_service_knobs();
  EXPECT_TRUE(knobs) << knobs.error().message;
  return *std::move(knobs);
}

deploy::ServiceSpec spec_of(const std::string& rest) {
  const std::string text =
      "[service]\nname = \"ml\"\nkind = \"compose\"\nfile = \"compose.yaml\"\nservice = \"ml\"\n" +
      rest + "[smoke]\nurl = \"http://127.0.0.1:3003/predict\"\n";
  auto spec = deploy::parse_service_spec(text, "ml.toml");
  EXPECT_TRUE(spec) << spec.error().message;
  return *std::move(spec);
}

const std::string any_change = "[[change]]\nset = { image = \"immich-machine-learning:v2\" }\n";

Present immich() {
  Present present;
  present.file = "compose.yaml";
  present.image = "ghcr.io/immich-app/immich-machine-learning:v2";
  present.values["compose.yaml"]["MACHINE_LEARNING_WORKERS"] = "3";
  return present;
}

TEST(Space, without_tune_the_table_says_what_the_image_has) {
  const auto space = make_space(spec_of(any_change), immich(), {8, 4}, table());
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_EQ(space->axes.size(), 3U);
  EXPECT_EQ(space->axes[0].setting.name, "MACHINE_LEARNING_WORKERS");
  EXPECT_THAT(space->axes[0].setting.values, ElementsAre("1", "2", "3", "4", "8"));
  EXPECT_TRUE(space->axes[0].is_set);
  EXPECT_FALSE(space->axes[1].is_set);  // Two threads by default.
  EXPECT_EQ(space->axes[1].setting.values[*space->axes[1].now], "2");
  ASSERT_TRUE(space->present);
  EXPECT_THAT(space->settings_of(space->points[*space->present]),
              Contains(std::pair<const std::string, std::string>("MACHINE_LEARNING_WORKERS", "3")));
  for (const Point& point : space->points) {
    const double all = *space->of_role(point, TuneSetting::Role::workers) *
                       *space->of_role(point, TuneSetting::Role::threads);
    EXPECT_LE(all, 16) << "more than two threads for each core";
  }
}

TEST(Space, what_somebody_wrote_down_always_wins) {
  const auto space =
      make_space(spec_of("[[tune]]\nname = \"MACHINE_LEARNING_WORKERS\"\nvalues = [2, 64]\n"),
                 immich(), {8, 4}, table());
  ASSERT_TRUE(space) << space.error().message;
  ASSERT_EQ(space->axes.size(), 1U);
  EXPECT_THAT(space->axes[0].setting.values, ElementsAre("2", "3", "64"));
  EXPECT_EQ(space->axes[0].setting.role, TuneSetting::Role::workers);  // By the table.
  EXPECT_EQ(space->points.size(), 3U);
}

TEST(Space, a_service_that_nobody_knows_has_to_be_told) {
  Present other = immich();
  other.image = "somebody/else";
  const auto space = make_space(spec_of(any_change), other, {8, 4}, table());
  ASSERT_FALSE(space);
  EXPECT_THAT(space.error().next, HasSubstr("[[tune]]"));
}

TEST(Space, an_option_is_replaced_by_any_of_its_names_or_added) {
  Present present;
  present.file = "compose.yaml";
  present.command = {"gunicorn", "-w", "2", "app:app"};
  const auto space = make_space(spec_of(any_change), present, {4, 4}, table());
  ASSERT_TRUE(space) << space.error().message;
  for (const Point& point : space->points) {
    const auto settings = space->settings_of(point);
    if (settings.at("--workers") != "4" || settings.at("--threads") != "2" ||
        settings.at("OMP_NUM_THREADS") != "1")
      continue;
    const auto changes = changes_of(*space, point);
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_THAT(*changes[0].set->command,
                ElementsAre("gunicorn", "-w", "4", "app:app", "--threads", "2"));
    EXPECT_EQ(changes[0].set->environment.at("OMP_NUM_THREADS"), "1");
    return;
  }
  FAIL() << "expected four workers with two threads among the points";
}

TEST(Space, the_present_point_takes_no_change) {
  const auto space = make_space(spec_of(any_change), immich(), {8, 4}, table());
  ASSERT_TRUE(space && space->present);
  EXPECT_TRUE(changes_of(*space, space->points[*space->present]).empty());
}

TEST(Space, keys_and_variables_of_one_file_are_two_changes) {
  const auto space = make_space(
      spec_of("[[tune]]\nname = \"A\"\nfile = \"x\"\nvalues = [1, 2]\n"
              "[[tune]]\nname = \"b\"\nas = \"key\"\nfile = \"x\"\nvalues = [\"on\", \"off\"]\n"),
      {}, {2, 1}, table());
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_FALSE(space->present);  // Neither value is known.
  EXPECT_EQ(to_toml(changes_of(*space, {1, 1})),
            "[[change]]\nfile = \"x\"\nset = { environment = { A = \"2\" } }\n"
            "[[change]]\nfile = \"x\"\nset = { keys = { b = \"off\" } }\n");
}

// What is printed is what headroom deploy reads.
TEST(Space, the_change_is_read_back_as_it_was_written) {
  const std::string odd = "a \"b\" \\ c";
  std::vector<deploy::FileChange> changes(1);
  changes[0].file = "odd \"name\"";
  changes[0].set.emplace();
  changes[0].set->environment["A"] = odd;
  changes[0].set->command = {"run", odd};
  const auto spec = spec_of(to_toml(changes));
  ASSERT_EQ(spec.changes.size(), 1U);
  EXPECT_EQ(spec.changes[0].file, changes[0].file);
  EXPECT_EQ(*spec.changes[0].set, *changes[0].set);
}

TEST(Space, too_many_combinations_are_refused) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    text += "[[tune]]\nname = \"V" + std::to_string(i) + "\"\nvalues = [1, 2, 3, 4, 5, 6, 7, 8]\n";
  }
  const auto space = make_space(spec_of(text), immich(), {8, 4}, table());
  ASSERT_FALSE(space);
  EXPECT_THAT(space.error().message, HasSubstr("at most 4096"));
}

TEST(ServiceKnobs, each_row_has_values_that_can_be_compared) {
  std::set<std::string> seen;
  for (const knowledge::ServiceKnob& knob : table().knobs) {
    EXPECT_TRUE(seen.insert(knob.of + knob.name).second) << knob.of << " " << knob.name;
    EXPECT_FALSE(knob.origin.source.empty());
  }
}

}  // namespace
}  // namespace headroom::tune
