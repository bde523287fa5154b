// SPDX-License-Identifier: Apache-2.0
// undo.sh as a rescue shell runs it: what it restores, what it leaves alone, and that it touches
// nothing before it has looked at everything.
#include "change/undo_script.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/shell_quote.h"
#include "change/change_machine.h"
#include "fault/toy_machine.h"
#include "fault/undo_script_run.h"

namespace headroom::change {
namespace {

using testing::difference;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScratchRoot;

plan::Step edit(plan::FileEdit file) {
  return {plan::StepKind::write_file, "edit", "", std::move(file), {}, true};
}

class UndoScriptTest : public ::testing::Test {
 protected:
  UndoScriptTest() { testing::fill_toy_machine(root_); }

  testing::Snapshot machine() const { return root_.snapshot(journal_folder); }
  plan::Record apply_toy(const plan::Change& change = testing::toy_change()) {
    auto record = apply(doors_, journal_, change, "boot-1");
    EXPECT_TRUE(record) << record.error().message;
    return record ? *std::move(record) : plan::Record();
  }
  std::filesystem::path originals(const plan::Record& record) const {
    return root_.path(fmt::format("{}/changes/{}/originals", journal_folder, record.id));
  }
  // A folder with the programs that the script needs, for a PATH of its own.
  std::string programs_without(const std::string& left_out) const {
    std::string folder = root_.path(std::string(journal_folder) + "/programs").string();
    const std::string command = fmt::format(
        "mkdir {0} && for one in cp dirname id ln ls mkdir mv readlink rm rmdir sha256sum sync; do "
        "[ $one = {1} ] || ln -s \"$(command -v $one)\" {0}/$one; done",
        shell_quote(folder), left_out);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
    EXPECT_EQ(std::system(command.c_str()), 0);
    return folder;
  }

  ScratchRoot root_;
  machine::WritableFiles files_ = *machine::WritableFiles::open(root_.string());
  testing::ToyPrograms programs_{files_};
  Journal journal_{files_, journal_folder};
  Doors doors_{files_, programs_, "2026-11-21T22:30:11Z"};
};

TEST_F(UndoScriptTest, no_blank_of_its_text_is_left) {
  const std::string script = undo_script(apply_toy());
  EXPECT_THAT(script, ::testing::StartsWith("#!/bin/sh\n# Takes back "));
  EXPECT_THAT(script, Not(HasSubstr("# @")));
  EXPECT_THAT(script, Not(HasSubstr("@id@")));
  EXPECT_THAT(script, Not(HasSubstr("shellcheck")));
}

TEST_F(UndoScriptTest, every_byte_comes_back_in_every_shell_that_is_here) {
  for (const std::string shell : {"sh", "dash", "bash --posix", "busybox sh"}) {
    const std::string known = fmt::format("{} -c : 2> /dev/null", shell);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread.
    if (std::system(known.c_str()) != 0) continue;
    const auto old_machine = machine();
    const auto record = apply_toy();
    ASSERT_TRUE(confirm(doors_, journal_, record.id, ""));
    const Ran ran = run_script(root_, record.id, "", shell);
    EXPECT_EQ(ran.status, 0) << shell << ": " << ran.said;
    EXPECT_EQ(difference(old_machine, machine()), "") << shell;
    EXPECT_THAT(ran.said, HasSubstr("is undone"));
    EXPECT_THAT(ran.said, Not(HasSubstr("make-menu")));  // Nothing is left to be made anew.
  }
}

TEST_F(UndoScriptTest, a_second_run_finds_nothing_to_do) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  EXPECT_EQ(run_script(root_, record.id).status, 0);
  const Ran again = run_script(root_, record.id);
  EXPECT_EQ(again.status, 0) << again.said;
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(UndoScriptTest, an_edited_file_stops_it_before_anything_is_touched) {
  const auto record = apply_toy();
  root_.write("/etc/default/toy", "mine\n", 0640);
  const auto edited = machine();
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.said, HasSubstr("/etc/default/toy: expected it as the change left it"));
  EXPECT_THAT(ran.said, HasSubstr("--force"));
  EXPECT_EQ(difference(edited, machine()), "");
}

TEST_F(UndoScriptTest, an_edit_made_after_confirm_is_not_lost_either) {
  const auto record = apply_toy();
  ASSERT_TRUE(confirm(doors_, journal_, record.id, ""));
  root_.write("/etc/default/toy", root_.read("/etc/default/toy") + "MINE=1\n", 0640);
  const auto edited = machine();
  EXPECT_EQ(run_script(root_, record.id).status, 1);
  EXPECT_EQ(difference(edited, machine()), "");
}

TEST_F(UndoScriptTest, a_link_changed_or_removed_since_counts_as_edited) {
  const auto record = apply_toy();
  root_.link("/usr/lib/changed.so", "a.so.2");
  std::filesystem::remove(root_.path("/usr/lib/a.so"));  // As before: nothing to ask.
  const auto edited = machine();
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.said, HasSubstr("/usr/lib/changed.so: "));
  EXPECT_THAT(ran.said, Not(HasSubstr("/usr/lib/a.so: ")));
  EXPECT_EQ(difference(edited, machine()), "");
}

TEST_F(UndoScriptTest, force_puts_the_original_over_an_edit) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  root_.write("/etc/default/toy", "mine\n", 0640);
  std::filesystem::remove(root_.path("/boot/entries/one.conf"));
  root_.link("/boot/entries/two.conf", "..");
  const Ran ran = run_script(root_, record.id, "--force");
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(UndoScriptTest, what_was_generated_anew_stays_and_its_command_is_named) {
  auto expected = machine();
  const auto record = apply_toy();
  root_.write("/boot/menu.cfg", "menu of a newer kernel: pages=7\n", 0600);
  expected["/boot/menu.cfg"] = machine()["/boot/menu.cfg"];
  for (const std::string words : {"", "--force"}) {
    const Ran ran = run_script(root_, record.id, words);
    EXPECT_EQ(ran.status, 0) << ran.said;
    EXPECT_THAT(ran.said, HasSubstr("/boot/menu.cfg: rebuilt or removed since the change"));
    EXPECT_THAT(ran.said, HasSubstr("(chroot " + root_.string()));
    EXPECT_THAT(ran.said, ::testing::EndsWith(": make-menu\n"));
    EXPECT_EQ(difference(expected, machine()), "");
  }
}

TEST_F(UndoScriptTest, commands_that_only_confirm_ran_are_named_too_and_each_once) {
  auto change = testing::toy_change();
  change.steps.pop_back();  // The menu is confirm's alone now.
  change.on_confirm.push_back(change.on_confirm.back());
  const auto record = apply_toy(change);
  ASSERT_TRUE(confirm(doors_, journal_, record.id, ""));
  root_.write("/boot/menu.cfg", "menu of a newer kernel\n", 0600);
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 0) << ran.said;
  const auto first = ran.said.find("make-menu");
  ASSERT_NE(first, std::string::npos) << ran.said;
  EXPECT_EQ(ran.said.find("make-menu", first + 1), std::string::npos) << ran.said;
}

TEST_F(UndoScriptTest, a_command_with_effects_outside_of_files_is_always_named) {
  auto change = testing::toy_change();
  auto& menu = std::get<plan::Command>(change.steps.back().action);
  menu.undo = {"make-menu", "it's new"};
  menu.undo_run = plan::UndoRun::always;
  const Ran ran = run_script(root_, apply_toy(change).id);
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_THAT(ran.said, ::testing::EndsWith(": make-menu 'it'\\''s new'\n"));
}

TEST_F(UndoScriptTest, a_missing_or_damaged_original_stops_it_before_anything_is_touched) {
  const auto record = apply_toy();
  const auto applied = machine();
  const auto original = originals(record) / record.touched.at(1).original;
  ASSERT_EQ(record.touched.at(1).path, "/etc/default/toy");
  std::filesystem::resize_file(original, 1);
  for (const std::string words : {"", "--force"}) {
    const Ran ran = run_script(root_, record.id, words);
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.said, HasSubstr(original.string()));
    EXPECT_EQ(difference(applied, machine()), "");
    std::filesystem::remove(original);
  }
}

TEST_F(UndoScriptTest, an_original_that_is_not_needed_may_be_missing) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  const std::string old_text = old_machine.at("/etc/default/toy").bytes;
  root_.write("/etc/default/toy", old_text, 0640);
  std::filesystem::remove(originals(record) / record.touched.at(1).original);
  EXPECT_EQ(run_script(root_, record.id).status, 0);
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(UndoScriptTest, a_folder_in_the_way_is_never_written_into) {
  const auto record = apply_toy();
  std::filesystem::remove(root_.path("/boot/entries/one.conf"));
  root_.folder("/boot/entries/one.conf");
  const auto edited = machine();
  EXPECT_EQ(run_script(root_, record.id, "--force").status, 1);
  EXPECT_EQ(difference(edited, machine()), "");
}

TEST_F(UndoScriptTest, a_boot_partition_that_is_not_mounted_is_noticed) {
  const auto record = apply_toy();
  std::filesystem::rename(root_.path("/boot"), root_.path("/elsewhere"));
  root_.folder("/boot");
  const auto seen = machine();
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.said, HasSubstr("/boot/entries/: expected this folder"));
  EXPECT_THAT(ran.said, HasSubstr("mounted"));
  EXPECT_EQ(difference(seen, machine()), "");
}

TEST_F(UndoScriptTest, a_loader_entry_that_went_with_its_kernel_stays_away) {
  const std::string old_kernel = "/boot/loader/entries/old.conf";
  const std::string removed = "/boot/loader/entries/removed.conf";
  root_.write(old_kernel, "old\n");
  root_.write(removed, "removed\n");
  auto expected = machine();
  expected.erase(old_kernel);
  auto change = testing::toy_change();
  change.steps.push_back(edit({old_kernel, "old\n", "new\n", {}}));
  change.steps.push_back(edit({removed, "removed\n", std::nullopt, {}}));
  const auto record = apply_toy(change);
  std::filesystem::remove(root_.path(old_kernel));
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_THAT(ran.said, HasSubstr(old_kernel + ": removed since the change, with its kernel"));
  EXPECT_EQ(difference(expected, machine()), "");  // The one that the change removed is back.
}

TEST_F(UndoScriptTest, without_sha256sum_only_force_restores) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  const auto applied = machine();
  const std::string shell = "PATH=" + shell_quote(programs_without("sha256sum")) + " /bin/sh";
  const Ran ran = run_script(root_, record.id, "", shell);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.said, HasSubstr("expected sha256sum"));
  EXPECT_EQ(difference(applied, machine()), "");
  const Ran forced = run_script(root_, record.id, "--force", shell);
  EXPECT_EQ(forced.status, 0) << forced.said;
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(UndoScriptTest, a_file_system_without_owners_gets_its_bytes_all_the_same) {
  const auto old_machine = machine();
  const auto record = apply_toy();
  const std::string folder = programs_without("cp");
  root_.program(std::string(journal_folder) + "/programs/cp",
                "[ \"$1\" = -a ] || exec /bin/cp \"$@\"\n"
                "/bin/cp \"$2\" \"$3\"\necho 'cannot preserve ownership' >&2\nexit 1\n");
  const Ran ran = run_script(root_, record.id, "", "PATH=" + shell_quote(folder) + " /bin/sh");
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(UndoScriptTest, blanks_and_quotes_in_names_are_only_names) {
  const std::string path = "/etc/it's $(odd) \"here\"/a  file*.conf";
  const std::string link = "/etc/it's $(odd) \"here\"/-link \\n";
  root_.write(path, "old\n", 0604);
  root_.link(link, "an 'old' target");
  plan::Change change;
  change.fix = "odd";
  change.steps = {
      edit({path, "old\n", "new\n", {}}),
      {plan::StepKind::link, "link", "", plan::LinkEdit{link, "an 'old' target", "-n"}, {}, true},
      edit({"/etc/new ' one/`x`/file", std::nullopt, "new\n", {}})};
  const auto old_machine = machine();
  const auto record = apply_toy(change);
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_EQ(difference(old_machine, machine()), "");
}

TEST_F(UndoScriptTest, links_on_the_way_are_followed_below_the_root) {
  const auto record = apply_toy();
  const std::string before = "# defaults\nARGS=\"quiet\"\n";
  root_.folder("/data");
  std::filesystem::rename(root_.path("/etc/default"), root_.path("/data/default"));
  root_.link("/etc/default", "../etc/./somewhere");
  root_.link("/etc/somewhere", "/data/default");  // Of the machine, not of the rescue system.
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_EQ(root_.read("/data/default/toy"), before);
}

TEST_F(UndoScriptTest, links_in_a_circle_are_refused) {
  const auto record = apply_toy();
  std::filesystem::remove_all(root_.path("/etc/default"));
  root_.link("/etc/default", "other");
  root_.link("/etc/other", "default");
  const auto seen = machine();
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.said, HasSubstr("lead in a circle"));
  EXPECT_EQ(difference(seen, machine()), "");
}

TEST_F(UndoScriptTest, what_programs_write_to_first_is_named) {
  auto record = apply_toy();
  record.state = plan::State::applying;
  record.running = 6;
  record.steps_done = 6;
  ASSERT_TRUE(journal_.save(record));
  root_.write("/boot/menu.cfg.new", "half");
  const Ran ran = run_script(root_, record.id);
  EXPECT_EQ(ran.status, 0) << ran.said;
  EXPECT_THAT(ran.said, HasSubstr("/boot/menu.cfg.new: may be unfinished work"));
  EXPECT_TRUE(root_.has("/boot/menu.cfg.new"));
}

TEST_F(UndoScriptTest, unknown_words_are_refused) {
  const auto record = apply_toy();
  const auto applied = machine();
  EXPECT_EQ(run_script(root_, record.id, "--dry-run").status, 2);
  EXPECT_EQ(run_script(root_, record.id, "/mnt").status, 2);  // A second root.
  EXPECT_EQ(difference(applied, machine()), "");
}

}  // namespace
}  // namespace headroom::change
