// SPDX-License-Identifier: Apache-2.0
// What apply, undo and confirm promise beside surviving faults: refusals that touch nothing, files
// that were changed since, and the way back without headroom.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "fault/change_fixture.h"

namespace headroom::change {
namespace {

using plan::State;
using testing::difference;
using ::testing::HasSubstr;

TEST_F(ChangeTest, undo_refuses_with_a_diff_where_somebody_edited_a_file_since) {
  const auto record = apply_toy();
  root_.write("/etc/default/toy", "# defaults\nARGS=\"quiet pages=7 mine\"\n", 0640);
  const auto edited = machine();
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_FALSE(undone);
  EXPECT_THAT(undone.error().message, HasSubstr("-ARGS=\"quiet pages=7\"\n"));
  EXPECT_THAT(undone.error().message, HasSubstr("+ARGS=\"quiet pages=7 mine\"\n"));
  EXPECT_FALSE(undone.error().next.empty());
  EXPECT_EQ(difference(edited, machine()), "");
  EXPECT_EQ(journal_.read(record.id)->state, State::awaiting_reboot);
}

TEST_F(ChangeTest, undo_refuses_where_a_mode_was_changed_since) {
  const auto record = apply_toy();
  std::filesystem::permissions(root_.path("/etc/default/toy"), std::filesystem::perms(0600));
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_FALSE(undone);
  EXPECT_THAT(undone.error().message, HasSubstr("mode 0640"));
  EXPECT_THAT(undone.error().message, HasSubstr("mode 0600"));
}

TEST_F(ChangeTest, a_generated_file_that_was_made_anew_since_is_made_anew_by_undo) {
  const auto record = apply_toy();
  root_.write("/boot/menu.cfg", "menu of a newer kernel: pages=7\n", 0600);
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_TRUE(undone) << undone.error().message;
  // From the defaults as they are now, restored.
  EXPECT_EQ(root_.read("/boot/menu.cfg"), "menu: " + root_.read("/etc/default/toy"));
  EXPECT_EQ(root_.read("/etc/default/toy").find("pages"), std::string::npos);
  EXPECT_THAT(undone->notes, ::testing::Contains(HasSubstr("was rebuilt since")));
}

TEST_F(ChangeTest, an_entry_that_came_with_a_newer_kernel_stays) {
  const auto record = apply_toy();
  root_.write("/boot/entries/newer.conf", "title newer\noptions quiet\n");
  ASSERT_TRUE(undo(doors_, journal_, record.id));
  EXPECT_TRUE(root_.has("/boot/entries/newer.conf"));
  EXPECT_FALSE(root_.has("/boot/entries/added.conf"));
}

TEST_F(ChangeTest, undo_goes_from_the_last_change_to_the_first) {
  const auto old_machine = machine();
  const auto first = apply_toy();
  plan::Change change;
  change.fix = "second";
  change.steps = {
      {plan::StepKind::write_file,
       "edit",
       "",
       plan::FileEdit{"/etc/default/toy", root_.read("/etc/default/toy"), "second\n", {}},
       {},
       true}};
  const auto second = apply_toy(change);
  const auto refused = undo(doors_, journal_, first.id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().next, "sudo headroom undo " + second.id);
  ASSERT_TRUE(undo(doors_, journal_, second.id));
  ASSERT_TRUE(undo(doors_, journal_, first.id));
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(ChangeTest, only_one_at_a_time) {
  const auto old_machine = machine();
  const auto other = journal_.lock();
  ASSERT_TRUE(other);
  const auto record = apply(doors_, journal_, testing::toy_change(), "boot-1");
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().code, Errc::busy);
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(ChangeTest, nothing_begins_beside_an_interrupted_change) {
  auto record = apply_toy();
  record.state = State::applying;
  ASSERT_TRUE(journal_.save(record));
  const auto second = apply(doors_, journal_, testing::toy_change(), "boot-1");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().next, "sudo headroom undo " + record.id);
}

TEST_F(ChangeTest, a_file_changed_since_planning_stops_apply_before_anything_is_touched) {
  const auto change = testing::toy_change();
  root_.write("/etc/modprobe.d/old.conf", "options toy size=4\n");
  const auto now = machine();
  const auto record = apply(doors_, journal_, change, "boot-1");
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr("/etc/modprobe.d/old.conf"));
  EXPECT_EQ(difference(now, machine()), "");
  EXPECT_TRUE(journal_.read_all()->records.empty());
}

TEST_F(ChangeTest, a_missing_program_stops_apply_before_anything_is_touched) {
  auto change = testing::toy_change();
  change.steps.push_back({plan::StepKind::initramfs,
                          "rebuild",
                          "",
                          plan::Command{{"no-such-program"}, {}, {}, {}, plan::UndoRun::never},
                          {},
                          true});
  const auto old_machine = machine();
  const auto record = apply(doors_, journal_, change, "boot-1");
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr("no-such-program"));
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(ChangeTest, an_expectation_that_fails_takes_everything_back) {
  auto change = testing::toy_change();
  change.steps.back().expects.push_back(
      {plan::Expectation::Kind::file_contains, "/boot/menu.cfg", "something else"});
  const auto old_machine = machine();
  const auto record = apply(doors_, journal_, change, "boot-1");
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr("something else"));
  EXPECT_THAT(record.error().message, HasSubstr("as it was before"));
  EXPECT_EQ(difference(old_machine, machine()), "");
  const auto kept = journal_.read_all()->records.front();
  EXPECT_EQ(kept.state, State::undone);
  EXPECT_TRUE(plan::never_in_force(kept));
  EXPECT_THAT(kept.said, HasSubstr("something else"));
}

TEST_F(ChangeTest, originals_that_were_tampered_with_are_not_restored) {
  const auto record = apply_toy();
  const auto originals = root_.path(std::string(journal_folder) + "/changes/" + record.id);
  for (const auto& file : std::filesystem::directory_iterator(originals / "originals")) {
    std::filesystem::resize_file(file.path(), 1);
  }
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_FALSE(undone);
  EXPECT_THAT(undone.error().message, HasSubstr("expected"));
  EXPECT_EQ(root_.read("/etc/default/toy").find("pages=7") != std::string::npos, true);
}

TEST_F(ChangeTest, a_lost_original_stops_undo_before_anything_is_touched) {
  const auto record = apply_toy();
  const auto originals = root_.path(journal_.folder_of(record.id) + "/originals");
  std::filesystem::remove(originals / "0002");
  const auto applied = machine();
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_FALSE(undone);
  EXPECT_EQ(difference(applied, machine()), "");
  EXPECT_EQ(journal_.read(record.id)->state, State::awaiting_reboot);
}

TEST_F(ChangeTest, an_entry_that_went_with_its_kernel_stays_away) {
  root_.write("/boot/loader/entries/old.conf", "title old\noptions quiet\n");
  plan::Change change;
  change.fix = "entry";
  change.steps = {{plan::StepKind::kernel_argument,
                   "edit",
                   "",
                   plan::FileEdit{"/boot/loader/entries/old.conf",
                                  "title old\noptions quiet\n",
                                  "title old\noptions pages=7\n",
                                  {}},
                   {},
                   true}};
  const auto record = apply_toy(change);
  std::filesystem::remove(root_.path("/boot/loader/entries/old.conf"));
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_FALSE(root_.has("/boot/loader/entries/old.conf"));
  EXPECT_THAT(undone->notes, ::testing::Contains(HasSubstr("stays removed")));
}

TEST_F(ChangeTest, an_entry_that_the_change_removed_comes_back) {
  root_.write("/boot/loader/entries/old.conf", "title old\n");
  const auto old_machine = machine();
  plan::Change change;
  change.fix = "entry";
  change.steps = {{plan::StepKind::kernel_argument,
                   "remove",
                   "",
                   plan::FileEdit{"/boot/loader/entries/old.conf", "title old\n", std::nullopt, {}},
                   {},
                   true}};
  const auto record = apply_toy(change);
  ASSERT_FALSE(root_.has("/boot/loader/entries/old.conf"));
  ASSERT_TRUE(undo(doors_, journal_, record.id));
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(ChangeTest, a_newer_entry_that_took_the_words_over_is_named) {
  auto change = testing::toy_change();
  change.boots_with = {"pages=7"};
  const auto record = apply_toy(change);
  root_.write("/boot/entries/newer.conf", "title newer\noptions quiet pages=7\n");
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_THAT(undone->notes, ::testing::Contains(HasSubstr("/boot/entries/newer.conf")));
}

// The power went while the entries were edited; what is written after the machine came up again is
// somebody else's.
class InterruptedTest : public ChangeTest {
 protected:
  InterruptedTest() {
    record_ = apply_toy();
    record_.state = State::applying;
    record_.running = 5;
    record_.steps_done = 5;
    for (plan::Touched& touched : record_.touched) {
      if (touched.path.starts_with("/boot/entries/")) {
        touched.done = false;
        touched.step = 5;
      }
    }
    EXPECT_TRUE(journal_.save(record_));
    root_.write("/boot/entries/later.conf", "title later\n");
  }

  plan::Record record_;
};

TEST_F(InterruptedTest, what_was_written_in_a_later_boot_is_not_half_done_work) {
  const Doors later{files_, programs_, "2026-11-21T23:00:00Z", 1};
  const auto undone = undo(later, journal_, record_.id);
  ASSERT_FALSE(undone);  // The entries themselves were written since as well: by whom?
  EXPECT_THAT(undone.error().message, HasSubstr("/boot/entries/one.conf"));
  EXPECT_TRUE(root_.has("/boot/entries/later.conf"));
}

// A kernel package that came in between: its entry boots, and must not lose what it boots.
TEST_F(InterruptedTest, what_came_in_between_stays_and_is_named) {
  const auto undone = undo(doors_, journal_, record_.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(root_.read("/boot/entries/later.conf"), "title later\n");
  EXPECT_THAT(undone->left, ::testing::Contains("/boot/entries/later.conf"));
  EXPECT_THAT(undone->notes, ::testing::Contains(HasSubstr("/boot/entries/later.conf was not")));
  EXPECT_EQ(root_.read("/boot/entries/one.conf"), "title one\noptions quiet\n");
  EXPECT_FALSE(root_.has("/etc/modprobe.d/new.d/deep/toy.conf"));  // Made by an edit of ours.
}

void set_modified(const std::filesystem::path& path, std::int64_t seconds) {
  const timespec time{static_cast<time_t>(seconds), 0};
  const std::array<timespec, 2> times = {time, time};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
}

TEST_F(InterruptedTest, what_programs_write_to_first_is_named_unless_it_is_old) {
  root_.write("/boot/entries/one.conf.new", "half");
  root_.write("/boot/entries/one.conf.bak", "of long ago");
  constexpr std::int64_t made_s = 1795300211;  // 2026-11-21T22:30:11Z.
  set_modified(root_.path("/boot/entries/one.conf.new"), made_s);
  set_modified(root_.path("/boot/entries/one.conf.bak"), made_s - 1);
  const auto undone = undo(doors_, journal_, record_.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_THAT(undone->left, ::testing::Contains("/boot/entries/one.conf.new"));
  EXPECT_THAT(undone->left, ::testing::Not(::testing::Contains("/boot/entries/one.conf.bak")));
  EXPECT_TRUE(root_.has("/boot/entries/one.conf.new"));
}

TEST_F(ChangeTest, a_generated_file_that_went_with_its_kernel_is_not_said_to_be_there) {
  plan::Change change = testing::toy_change();
  auto& menu = std::get<plan::Command>(change.steps.back().action);
  menu.undo_run = plan::UndoRun::never;
  const auto record = apply_toy(change);
  std::filesystem::remove(root_.path("/boot/menu.cfg"));
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_THAT(undone->notes,
              ::testing::Contains("/boot/menu.cfg was removed since and stays removed"));
}

// A full /boot: what the command left half done fills it, so that making everything anew fails too.
TEST_F(ChangeTest, half_done_work_that_stays_does_not_keep_a_failed_change_from_being_taken_back) {
  const auto old_machine = machine();
  plan::Change change = testing::toy_change();
  auto& menu = std::get<plan::Command>(change.steps.back().action);
  menu.generates = {"/boot/menu*"};
  int writes = 0;
  programs_.before_each([&]() -> Status {
    if (writes++ == 0) root_.write("/boot/menu.cfg.new", "half");
    return Error{Errc::no_space, "No space left on device", ""};
  });
  change.steps.erase(change.steps.end() - 2);  // The entries are written by the same program.
  const auto record = apply(doors_, journal_, change, "boot-1");
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr("/boot/menu.cfg.new"));
  EXPECT_EQ(journal_.read_all()->records.front().state, State::undone);
  std::filesystem::remove(root_.path("/boot/menu.cfg.new"));
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(ChangeTest, what_boots_is_changed_by_one_change_at_a_time) {
  const auto first = apply_toy();
  auto change = testing::toy_change();
  change.fix = "second";
  const auto second = apply(doors_, journal_, change, "boot-1");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::busy);
  EXPECT_THAT(second.error().message, HasSubstr(first.id));
}

TEST_F(ChangeTest, ids_keep_their_order_where_the_clock_was_set_back) {
  const auto first = journal_.begin("2026-11-21T22:30:11Z", "b");
  ASSERT_TRUE(first);
  plan::Record record;
  record.id = *first;
  ASSERT_TRUE(journal_.save(record));
  const auto second = journal_.begin("2020-01-01T00:00:00Z", "a");
  ASSERT_TRUE(second);
  EXPECT_LT(*first, *second);
}

TEST_F(ChangeTest, a_record_that_cannot_be_read_is_said_and_blocks) {
  const auto record = apply_toy();
  root_.write(std::string(journal_folder) + "/changes/" + record.id + "/record.json", "{\"id\": 3");
  EXPECT_EQ(journal_.read_all()->unreadable.size(), 1U);
  EXPECT_FALSE(apply(doors_, journal_, testing::toy_change(), "boot-1"));
}

TEST_F(ChangeTest, the_undo_script_restores_every_byte_without_headroom) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  const auto script =
      root_.path(std::string(journal_folder) + "/changes/" + record.id + "/undo.sh");
  const std::string command =
      "sh '" + script.string() + "' '" + root_.string() + "' > /dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(ChangeTest, confirm_refuses_where_a_file_was_edited_and_can_still_be_undone) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  const std::string left = root_.read("/etc/default/toy");
  root_.write("/etc/default/toy", "mine\n", 0640);
  EXPECT_FALSE(confirm(doors_, journal_, record.id, ""));
  root_.write("/etc/default/toy", left, 0640);
  ASSERT_TRUE(undo(doors_, journal_, record.id));
  EXPECT_EQ(difference(old_machine, machine()), "");
}

}  // namespace
}  // namespace headroom::change
