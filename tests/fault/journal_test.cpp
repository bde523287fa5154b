// SPDX-License-Identifier: Apache-2.0
// What the journal keeps and says: records that are lost, the order of ids, who is at a change, and
// what became of it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "change/hard_links.h"
#include "fault/change_fixture.h"

namespace headroom::change {
namespace {

using plan::State;
using testing::difference;
using ::testing::HasSubstr;

class JournalTest : public ChangeTest {};

TEST_F(JournalTest, an_interruption_taken_back_by_hand_is_no_failure) {
  auto record = apply_toy();
  record.state = State::applying;
  ASSERT_TRUE(journal_.save(record));
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(undone->record.undone_from, State::applying);
  EXPECT_TRUE(undone->record.said.empty());
  EXPECT_TRUE(plan::never_in_force(*journal_.read(record.id)));
}

TEST_F(JournalTest, what_was_in_force_and_was_undone_is_told_from_what_never_was) {
  const auto record = apply_toy();
  ASSERT_TRUE(undo(doors_, journal_, record.id));
  EXPECT_EQ(journal_.read(record.id)->undone_from, State::awaiting_reboot);
  EXPECT_FALSE(plan::never_in_force(*journal_.read(record.id)));
}

TEST_F(JournalTest, a_lost_record_never_costs_the_originals) {
  const auto applied = apply_toy();
  const std::string folder = journal_.folder_of(applied.id);
  std::filesystem::remove(root_.path(folder + "/record.json"));
  const auto before = root_.snapshot();
  const auto listing = journal_.read_all();
  ASSERT_TRUE(listing);
  ASSERT_EQ(listing->unreadable.size(), 1U);
  EXPECT_THAT(listing->unreadable.front().message, HasSubstr(folder + "/originals"));
  EXPECT_THAT(listing->unreadable.front().next, HasSubstr(folder + "/undo.sh"));
  auto change = testing::toy_change();
  change.fix = "second";
  EXPECT_FALSE(apply(doors_, journal_, change, "boot-1"));
  const auto undone = undo(doors_, journal_, applied.id);
  ASSERT_FALSE(undone);
  EXPECT_THAT(undone.error().next, HasSubstr(folder + "/undo.sh"));
  EXPECT_EQ(difference(before, root_.snapshot()), "");
}

TEST_F(JournalTest, a_record_that_is_no_file_leads_back_as_a_lost_one_does) {
  const auto applied = apply_toy();
  const std::string folder = journal_.folder_of(applied.id);
  std::filesystem::remove(root_.path(folder + "/record.json"));
  root_.folder(folder + "/record.json");
  const auto record = journal_.read(applied.id);
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr(folder + "/originals"));
  EXPECT_THAT(record.error().next, HasSubstr(folder + "/undo.sh"));
}

TEST_F(JournalTest, what_hides_the_journal_is_not_nothing) {
  for (const std::string_view hidden : {"/var/lib/headroom", "/var/lib/headroom/changes"}) {
    const testing::ScratchRoot root;
    auto files = *machine::WritableFiles::open(root.string());
    const Journal journal(files, journal_folder);
    EXPECT_TRUE(journal.read_all()) << "nothing there: nothing was changed";
    root.link(hidden, "/mnt/not-mounted");
    EXPECT_FALSE(journal.read_all()) << hidden;
    std::filesystem::remove(root.path(hidden));
    root.write(hidden, "");
    EXPECT_FALSE(journal.read_all()) << hidden;
    std::filesystem::remove(root.path(hidden));
    root.folder("/srv/journal/changes");
    root.link(hidden, "/srv/journal");
    EXPECT_TRUE(journal.read_all()) << "a link to a folder is one";
  }
}

TEST_F(JournalTest, begin_keeps_originals_whose_record_is_lost) {
  const auto applied = apply_toy();
  const std::string folder = journal_.folder_of(applied.id);
  for (const char* lost : {"/record.json", "/undo.sh"}) {
    std::filesystem::remove(root_.path(folder + lost));
    ASSERT_TRUE(journal_.begin("2026-11-21T22:30:11Z", "other"));
    EXPECT_TRUE(root_.has(folder + "/originals/0002"));
  }
}

TEST_F(JournalTest, what_was_only_being_prepared_is_removed_by_the_next_change) {
  const auto id = journal_.begin("2026-11-21T22:30:11Z", "first");
  ASSERT_TRUE(id);
  plan::Touched touched;
  touched.path = "/etc/default/toy";
  touched.before = FileEntry();
  ASSERT_TRUE(journal_.keep_original(*id, touched, 1));
  EXPECT_EQ(journal_.read(*id).error().code, Errc::not_found);
  EXPECT_TRUE(journal_.read_all()->unreadable.empty());
  ASSERT_TRUE(journal_.begin("2026-11-21T22:31:11Z", "second"));
  EXPECT_FALSE(root_.has(journal_.folder_of(*id)));
}

TEST_F(JournalTest, ids_of_one_second_are_ordered_by_their_number) {
  std::vector<std::string> made;
  for (int i = 0; i < 12; ++i) {
    const auto id = journal_.begin("2026-11-21T22:30:11Z", i % 2 == 0 ? "b" : "a");
    ASSERT_TRUE(id);
    plan::Record record;
    record.id = *id;
    record.state = State::undone;
    ASSERT_TRUE(journal_.save(record));
    made.insert(made.begin(), *id);
  }
  const auto listing = journal_.read_all();
  ASSERT_TRUE(listing);
  std::vector<std::string> listed;
  for (const plan::Record& record : listing->records) listed.push_back(record.id);
  EXPECT_EQ(listed, made);
}

TEST_F(JournalTest, the_tenth_change_of_one_second_is_later_than_the_second) {
  std::vector<plan::Record> records;
  for (int i = 0; i < 10; ++i) {
    const std::string text = root_.read("/etc/default/toy");
    plan::Change change;
    change.fix = "edit";
    change.steps = {{plan::StepKind::write_file,
                     "edit",
                     "",
                     plan::FileEdit{"/etc/default/toy", text, text + "more\n", {}},
                     {},
                     true}};
    records.push_back(apply_toy(change));
  }
  const auto refused = undo(doors_, journal_, records.at(1).id);
  ASSERT_FALSE(refused);
  const auto undone = undo(doors_, journal_, records.at(9).id);
  EXPECT_TRUE(undone) << undone.error().message;
}

TEST_F(JournalTest, who_holds_the_lock_is_named) {
  const auto other = journal_.lock();
  ASSERT_TRUE(other);
  const auto record = apply(doors_, journal_, testing::toy_change(), "boot-1");
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().message, HasSubstr(fmt::format("(process {})", ::getpid())));
  const auto holders = journal_.holders();
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_TRUE(holders.front().took_it);
}

// update-grub goes on when the headroom that started it was killed.
TEST_F(JournalTest, a_program_that_outlived_the_taker_of_the_lock_is_named_as_such) {
  auto lock = journal_.lock();
  ASSERT_TRUE(lock);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(1);
  }
  ASSERT_GT(child, 0);
  lock = Error{Errc::io, "", ""};  // This process gives it up; the child has it still.
  auto holders = journal_.holders();
  // Between fork and exec it is still called as we are.
  for (int i = 0; i < 1000 && (holders.empty() || holders.front().command != "sleep 600"); ++i) {
    ::usleep(10000);
    holders = journal_.holders();
  }
  const auto refused = apply(doors_, journal_, testing::toy_change(), "boot-1");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_EQ(holders.size(), 1U);
  EXPECT_EQ(holders.front().pid, static_cast<std::uint64_t>(child));
  EXPECT_EQ(holders.front().command, "sleep 600");
  EXPECT_FALSE(holders.front().took_it);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(fmt::format("sleep 600 (process {})", child)));
  EXPECT_TRUE(journal_.holders().empty());
}

TEST_F(JournalTest, a_file_with_several_names_is_said_before_and_after) {
  std::filesystem::create_hard_link(root_.path("/etc/default/toy"), root_.path("/etc/toy.copy"));
  const auto said = find_parted_names(files_, testing::toy_change());
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said.front(), HasSubstr("/etc/default/toy has 2 names"));
  const std::string old_text = root_.read("/etc/default/toy");
  const auto record = apply_toy();
  EXPECT_EQ(root_.read("/etc/toy.copy"), old_text);
  const auto undone = undo(doors_, journal_, record.id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(root_.read("/etc/default/toy"), old_text);
  EXPECT_THAT(undone->notes, ::testing::Contains(HasSubstr("/etc/default/toy had 2 names")));
}

}  // namespace
}  // namespace headroom::change
