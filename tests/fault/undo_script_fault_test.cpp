// SPDX-License-Identifier: Apache-2.0
// undo.sh after a power cut anywhere: of apply, of confirm, of undo.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "change/change_machine.h"
#include "fault/toy_machine.h"
#include "fault/undo_script_run.h"

namespace headroom::change {
namespace {

using testing::difference;
using ::testing::HasSubstr;
using testing::ScratchRoot;

// All of `act` that changes anything, broken off at operation number `at`. True: nothing broke.
using Act = bool (*)(const Doors& doors, Journal& journal, const std::string& id);
bool act_until(const ScratchRoot& root, Act act, const std::string& id, int at) {
  auto files = *machine::WritableFiles::open(root.string());
  testing::ToyPrograms programs{files};
  Journal journal{files, journal_folder};
  int operations = 0;
  const auto go_on = [&operations, at]() -> Status {
    if (operations++ < at) return Done{};
    return Error{Errc::io, "broken", ""};
  };
  files.before_each([go_on](std::string_view, std::string_view) { return go_on(); });
  programs.before_each(go_on);
  const Doors doors{files, programs, "2026-11-21T22:30:11Z"};
  return act(doors, journal, id);
}

// The script takes back what is left by a power cut anywhere. The one thing it cannot know is a
// file that the interrupted command added; that one it names.
void expect_taken_back(const ScratchRoot& root, const testing::Snapshot& expected,
                       const std::string& id) {
  const Ran ran = run_script(root, id);
  ASSERT_EQ(ran.status, 0) << ran.said;
  auto now = root.snapshot(journal_folder);
  constexpr auto added = "/boot/entries/added.conf";
  if (now.contains(added)) {
    EXPECT_THAT(ran.said, HasSubstr(std::string(added) + ": may be unfinished work"));
    now.erase(added);
  }
  ASSERT_EQ(difference(expected, now), "") << ran.said;
}

TEST(UndoScriptFault, apply_interrupted_anywhere_is_taken_back) {
  const std::string id = "20261121T223011Z-toy";
  bool whole = false;
  for (int at = 0; !whole; ++at) {
    const ScratchRoot root;
    testing::fill_toy_machine(root);
    const auto old_machine = root.snapshot(journal_folder);
    const Act act = [](const Doors& doors, Journal& journal, const std::string&) {
      return apply(doors, journal, testing::toy_change(), "boot-1").has_value();
    };
    whole = act_until(root, act, "", at);
    if (!root.has(fmt::format("{}/changes/{}/undo.sh", journal_folder, id))) continue;
    expect_taken_back(root, old_machine, id);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "broke at " << at;
  }
}

// Not at every single one: each takes a whole run of a shell.
constexpr int stride = 3;

void expect_taken_back_after_interrupted(Act act) {
  bool whole = false;
  for (int at = 0; !whole; at += stride) {
    const ScratchRoot root;
    testing::fill_toy_machine(root);
    const auto old_machine = root.snapshot(journal_folder);
    auto files = *machine::WritableFiles::open(root.string());
    testing::ToyPrograms programs{files};
    Journal journal{files, journal_folder};
    const Doors doors{files, programs, "2026-11-21T22:30:11Z"};
    const auto record = apply(doors, journal, testing::toy_change(), "boot-1");
    ASSERT_TRUE(record);
    whole = act_until(root, act, record->id, at);
    expect_taken_back(root, old_machine, record->id);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "broke at " << at;
  }
}

TEST(UndoScriptFault, an_interrupted_confirm_is_taken_back) {
  expect_taken_back_after_interrupted(
      [](const Doors& doors, Journal& journal, const std::string& id) {
        return confirm(doors, journal, id, "").has_value();
      });
}

TEST(UndoScriptFault, an_interrupted_undo_is_finished) {
  expect_taken_back_after_interrupted(
      [](const Doors& doors, Journal& journal, const std::string& id) {
        return undo(doors, journal, id).has_value();
      });
}

}  // namespace
}  // namespace headroom::change
