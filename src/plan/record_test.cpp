// SPDX-License-Identifier: Apache-2.0
#include "plan/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/document.h"
#include "base/text.h"
#include "plan/change_json.h"
#include "plan/record_json.h"

namespace headroom::plan {
namespace {

using ::testing::HasSubstr;

// A text of any bytes, also such as no UTF-8 has.
std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

std::optional<std::string> perhaps_bytes() {
  if (*rc::gen::arbitrary<bool>()) return std::nullopt;
  return any_bytes();
}

std::vector<std::string> some_bytes() {
  std::vector<std::string> list(*rc::gen::inRange<std::size_t>(0, 3));
  for (std::string& one : list) one = any_bytes();
  return list;
}

template <class Enum>
Enum one_of(Enum last) {
  return static_cast<Enum>(*rc::gen::inRange(0, static_cast<int>(last) + 1));
}

Action any_action() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: {
      FileEdit edit{any_bytes(), perhaps_bytes(), perhaps_bytes(), std::nullopt};
      if (*rc::gen::arbitrary<bool>()) edit.mode = *rc::gen::inRange(0U, 010000U);
      return edit;
    }
    case 1:
      return LinkEdit{any_bytes(), perhaps_bytes(), perhaps_bytes()};
    case 2: {
      Command command{some_bytes(), some_bytes(), some_bytes(), some_bytes(),
                      one_of(UndoRun::always)};
      command.argv.push_back(any_bytes());
      return command;
    }
    default:
      return Instruction{any_bytes()};
  }
}

std::vector<Step> some_steps() {
  std::vector<Step> steps(*rc::gen::inRange<std::size_t>(0, 3));
  for (Step& step : steps) {
    step = {one_of(StepKind::by_hand), any_bytes(), any_bytes(), any_action(), {}, false};
    step.expects.push_back({one_of(Expectation::Kind::image_holds), any_bytes(), any_bytes()});
    step.needs_root = *rc::gen::arbitrary<bool>();
  }
  return steps;
}

Change any_change() {
  Change change{any_bytes(),  any_bytes(),  some_bytes(), some_steps(),
                some_steps(), some_bytes(), some_bytes(), false,
                some_bytes(), some_bytes(), std::nullopt, one_of(BootFallback::by_hand),
                some_bytes()};
  change.needs_reboot = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    const Bytes limit{*rc::gen::arbitrary<std::uint64_t>()};
    change.forecast =
        Forecast{{{any_bytes(), any_bytes(), limit, true, *rc::gen::arbitrary<bool>()}},
                 {{any_bytes(), any_bytes()}},
                 any_bytes()};
  }
  return change;
}

FileEntry any_entry() {
  FileEntry entry;
  entry.kind = one_of(EntryKind::other);
  entry.attributes = {*rc::gen::arbitrary<std::uint32_t>(),
                      *rc::gen::arbitrary<std::uint32_t>(),
                      *rc::gen::arbitrary<std::uint32_t>(),
                      {{any_bytes(), any_bytes()}}};
  entry.size = *rc::gen::arbitrary<std::uint64_t>();
  entry.names = *rc::gen::inRange<std::uint64_t>(1, 4);
  entry.target = any_bytes();
  return entry;
}

Record any_record() {
  Record record;
  record.id = "20261121T223011Z-ttm-cap";
  record.made = any_bytes();
  record.state = one_of(State::undone);
  record.change = any_change();
  const std::size_t steps = record.change.steps.size() + record.change.on_confirm.size();
  for (std::size_t i = 0; i < steps; ++i) {
    Touched touched;
    touched.path = "/" + any_bytes();
    touched.step = i;
    touched.generated = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) touched.before = any_entry();
    touched.original = "0001";
    touched.before_checksum = any_bytes();
    if (*rc::gen::arbitrary<bool>()) touched.after = any_entry();
    touched.after_checksum = any_bytes();
    touched.done = *rc::gen::arbitrary<bool>();
    record.touched.push_back(touched);
  }
  record.steps_done = *rc::gen::inRange<std::size_t>(0, steps + 1);
  if (steps > 0 && *rc::gen::arbitrary<bool>()) record.running = steps - 1;
  record.folders_made = some_bytes();
  record.boot_id = any_bytes();
  record.ended = any_bytes();
  record.said = any_bytes();
  if (*rc::gen::arbitrary<bool>()) record.undone_from = one_of(State::undone);
  return record;
}

// The smallest record that is one.
Record plain_record() {
  Record record;
  record.id = "20261121T223011Z-ttm-cap";
  record.made = "2026-11-21T22:30:11Z";
  record.change.fix = "ttm-cap";
  record.change.steps.push_back(
      {StepKind::write_file, "Write it", "", FileEdit{"/etc/a", {}, "x\n", {}}, {}, true});
  Touched touched;
  touched.path = "/etc/a";
  record.touched.push_back(touched);
  return record;
}

TEST(RecordJson, nothing_of_any_record_is_lost) {
  const bool held = rc::check([] {
    const std::string text = to_json_text(any_record());
    const auto again = parse_record(text);
    RC_ASSERT(again.has_value());
    RC_ASSERT(to_json_text(*again) == text);
  });
  EXPECT_TRUE(held);
}

TEST(RecordJson, bytes_of_a_file_come_back_as_they_were) {
  Record record = plain_record();
  const std::string bytes("\x00\xff caf\xe9\n", 8);
  record.change.steps[0].action = FileEdit{"/etc/caf\xe9", bytes, std::nullopt, 0600};
  FileEntry entry;
  entry.attributes.mode = 0600;
  entry.attributes.extended["security.selinux"] = bytes;
  record.touched[0].before = entry;
  const auto again = parse_record(to_json_text(record));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  const auto& edit = std::get<FileEdit>(again->change.steps[0].action);
  EXPECT_EQ(edit.path, "/etc/caf\xe9");
  EXPECT_EQ(edit.before, bytes);
  EXPECT_EQ(edit.after, std::nullopt);
  EXPECT_EQ(edit.mode, 0600U);
  EXPECT_EQ(again->touched[0].before->attributes, record.touched[0].before->attributes);
  EXPECT_EQ(again->touched[0].after, std::nullopt);
}

TEST(RecordJson, an_empty_file_is_not_an_absent_one) {
  Record record = plain_record();
  record.change.steps[0].action = FileEdit{"/etc/a", "", std::nullopt, {}};
  const auto again = parse_record(to_json_text(record));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(std::get<FileEdit>(again->change.steps[0].action).before, "");
}

TEST(RecordJson, a_field_that_is_gone_or_of_another_type_is_named) {
  const auto whole = to_json(plain_record());
  for (const auto& [key, value] : whole.items()) {
    auto without = whole;
    without.erase(key);
    const auto gone = parse_record(without.dump());
    ASSERT_FALSE(gone.has_value()) << key;
    EXPECT_THAT(gone.error().message, HasSubstr("/" + key));
    EXPECT_FALSE(gone.error().next.empty());
    auto other = whole;
    other[key] = 1.5;
    EXPECT_FALSE(parse_record(other.dump()).has_value()) << key;
  }
}

TEST(RecordJson, a_place_deep_inside_is_named) {
  auto json = to_json(plain_record());
  json["change"]["steps"][0]["path"] = 7;
  const auto read = parse_record(json.dump());
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message,
            "/change/steps/0/path: expected text, or {\"base64\": …}, found 7");
}

TEST(RecordJson, names_that_lead_out_of_the_journal_are_refused) {
  for (const char* name : {"../../etc/shadow", "..", "/etc/shadow", "a/b"}) {
    Record record = plain_record();
    record.touched[0].original = name;
    EXPECT_FALSE(parse_record(to_json_text(record)).has_value()) << name;
    record = plain_record();
    record.id = name;
    EXPECT_FALSE(parse_record(to_json_text(record)).has_value()) << name;
  }
  Record record = plain_record();
  record.touched[0].path = "etc/a";
  EXPECT_FALSE(parse_record(to_json_text(record)).has_value());
}

TEST(RecordJson, counts_beyond_the_steps_are_refused) {
  Record record = plain_record();
  record.steps_done = 2;
  EXPECT_FALSE(parse_record(to_json_text(record)).has_value());
  record = plain_record();
  record.running = 1;
  EXPECT_FALSE(parse_record(to_json_text(record)).has_value());
  record = plain_record();
  record.touched[0].step = 1;
  EXPECT_FALSE(parse_record(to_json_text(record)).has_value());
}

TEST(RecordJson, a_record_of_another_version_names_the_remedy) {
  auto json = to_json(plain_record());
  json["schema"] = "headroom.record/2";
  const auto read = parse_record(json.dump());
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Errc::unsupported);
  EXPECT_THAT(read.error().next, HasSubstr("version"));
}

TEST(RecordId, the_order_is_that_of_time_then_of_numbers) {
  const std::vector<std::string_view> ids = {"20261121T223011Z-z", "20261121T223011Z.2-ttm-cap",
                                             "20261121T223011Z.10-a", "20261121T223011Z.10-b",
                                             "20261121T223012Z-a"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      EXPECT_EQ(is_earlier_id(ids[i], ids[k]), i < k) << ids[i] << " " << ids[k];
    }
  }
}

TEST(RecordState, every_state_has_a_name_of_its_own) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(State::undone); ++i) {
    names.push_back(to_string(static_cast<State>(i)));
    EXPECT_FALSE(names.back().empty());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(RecordState, everything_is_in_force_until_it_is_undone) {
  EXPECT_FALSE(is_in_force(State::undone));
  for (const State state :
       {State::applying, State::applied, State::awaiting_reboot, State::confirming,
        State::confirmed, State::mismatched, State::undoing}) {
    EXPECT_TRUE(is_in_force(state)) << to_string(state);
  }
}

TEST(RecordState, what_stands_between_old_and_new_is_interrupted) {
  for (const State state : {State::applying, State::confirming, State::undoing}) {
    EXPECT_TRUE(is_interrupted(state)) << to_string(state);
  }
  for (const State state : {State::applied, State::awaiting_reboot, State::confirmed,
                            State::mismatched, State::undone}) {
    EXPECT_FALSE(is_interrupted(state)) << to_string(state);
  }
}

}  // namespace
}  // namespace headroom::plan
