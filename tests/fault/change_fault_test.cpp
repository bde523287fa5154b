// SPDX-License-Identifier: Apache-2.0
// A change interrupted at every single operation, of apply × undo and of confirm: afterwards the
// machine is byte for byte the old one or the new one, and the journal knows which. A crash ends
// everything that follows; an errno fails one operation and the program goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "change/change_machine.h"
#include "fault/toy_machine.h"
#include "support/sampling.h"

namespace headroom::change {
namespace {

using plan::State;
using testing::ScratchRoot;
using testing::ToyPrograms;

constexpr auto journal_folder = "/var/lib/headroom";
constexpr auto now = "2026-11-21T22:30:11Z";

enum class Fault { crash, one_errno };

// One run of headroom: opens the root, does something, and may break at one operation.
struct Attempt {
  machine::WritableFiles files;
  ToyPrograms programs{files};
  Journal journal{files, journal_folder};
  Doors doors{files, programs, now};
  int operations = 0;

  explicit Attempt(const ScratchRoot& root) : files(*machine::WritableFiles::open(root.string())) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Operation number `at` (from 0) fails; after a crash all that follow fail as well.
  void break_at(int at, Fault fault) {
    const auto fails = [this, at, fault] {
      const int number = operations++;
      return fault == Fault::crash ? number >= at : number == at;
    };
    files.before_each([fails](std::string_view operation, std::string_view path) -> Status {
      if (!fails()) return Done{};
      return Error{Errc::no_space, fmt::format("{} {}: broken", operation, path), ""};
    });
    programs.before_each([fails]() -> Status {
      if (!fails()) return Done{};
      return Error{Errc::io, "broken", ""};
    });
  }
};

using Tree = testing::Snapshot;

// Thousands of scratch roots with some hundred fsyncs each: in memory, where there is such a place.
class InMemory : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  }
};
const auto* const in_memory = ::testing::AddGlobalTestEnvironment(new InMemory);

Tree machine_of(const ScratchRoot& root) {
  return root.snapshot(journal_folder);
}

struct Expected {
  Tree old_machine;
  Tree applied;
  Tree confirmed;
};

Expected expected_machines() {
  const ScratchRoot root;
  testing::fill_toy_machine(root);
  Expected expected{machine_of(root), {}, {}};
  Attempt run(root);
  const auto record = apply(run.doors, run.journal, testing::toy_change(), "boot-1");
  EXPECT_TRUE(record) << record.error().message;
  expected.applied = machine_of(root);
  const auto confirmed = confirm(run.doors, run.journal, record->id, "");
  EXPECT_TRUE(confirmed) << confirmed.error().message;
  expected.confirmed = machine_of(root);
  return expected;
}

// What the journal of a machine that was switched on again says; nothing: no change ever began.
std::optional<plan::Record> only_record(const ScratchRoot& root) {
  Attempt run(root);
  const auto listing = run.journal.read_all();
  EXPECT_TRUE(listing) << listing.error().message;
  EXPECT_TRUE(listing->unreadable.empty());
  EXPECT_LE(listing->records.size(), 1U);
  if (!listing || listing->records.empty()) return std::nullopt;
  return listing->records.front();
}

// What the program of the toy machine adds, and an interruption leaves: whose it is cannot be told.
constexpr auto added = "/boot/entries/added.conf";

bool may_be_left(const std::optional<plan::Record>& record) {
  return record && record->running && *record->running == 5;
}

::testing::AssertionResult same(const Tree& expected, const ScratchRoot& root,
                                bool may_have_more = false) {
  Tree machine = machine_of(root);
  if (may_have_more && !expected.contains(added)) machine.erase(added);
  const std::string differs = testing::difference(expected, machine);
  if (differs.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << differs;
}

// Whatever happened, the journal and the machine agree, and undo brings the old machine back.
void expect_consistent(const ScratchRoot& root, const Expected& expected) {
  const auto record = only_record(root);
  if (!record || record->state == State::undone) {
    EXPECT_TRUE(same(expected.old_machine, root, may_be_left(record)));
    return;
  }
  if (record->state == State::awaiting_reboot) {
    EXPECT_TRUE(same(expected.applied, root));
  }
  if (record->state == State::confirmed) {
    EXPECT_TRUE(same(expected.confirmed, root));
  }
  Attempt run(root);
  const auto undone = undo(run.doors, run.journal, record->id);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_TRUE(same(expected.old_machine, root, may_be_left(record)));
  const auto& left = undone->left;
  EXPECT_EQ(root.has(added), std::find(left.begin(), left.end(), added) != left.end());
  EXPECT_EQ(only_record(root)->state, State::undone);
}

TEST(ChangeFault, apply_and_undo_interrupted_anywhere_leave_the_old_machine) {
  const Expected expected = expected_machines();
  int interruptions = 0;  // --gtest_output=json says how many.
  // Every operation of apply, and of undo every one after one or another of them.
  const int stride = static_cast<int>(testing::stride(13));
  for (int apply_at = 0;; ++apply_at) {
    bool whole = false;
    for (int undo_at = apply_at % stride;; undo_at += stride) {
      const ScratchRoot root;
      testing::fill_toy_machine(root);
      ++interruptions;
      {
        Attempt run(root);
        run.break_at(apply_at, Fault::crash);
        whole = apply(run.doors, run.journal, testing::toy_change(), "boot-1").has_value();
      }
      const auto record = only_record(root);
      bool undone = true;
      if (record && record->state != State::undone) {
        Attempt run(root);
        run.break_at(undo_at, Fault::crash);
        undone = undo(run.doors, run.journal, record->id).has_value();
      }
      expect_consistent(root, expected);
      ASSERT_FALSE(::testing::Test::HasFailure())
          << "apply broke at " << apply_at << ", undo at " << undo_at;
      if (undone) break;
    }
    if (whole) break;
  }
  RecordProperty("interruptions", interruptions);
}

TEST(ChangeFault, an_errno_anywhere_in_apply_takes_everything_back) {
  const Expected expected = expected_machines();
  for (int at = 0;; ++at) {
    const ScratchRoot root;
    testing::fill_toy_machine(root);
    Attempt run(root);
    run.break_at(at, Fault::one_errno);
    const auto record = apply(run.doors, run.journal, testing::toy_change(), "boot-1");
    if (!record) {
      // Without anybody's help, unless the journal itself could not be written.
      EXPECT_TRUE(same(expected.old_machine, root, may_be_left(only_record(root))))
          << record.error().message;
      EXPECT_FALSE(record.error().next.empty()) << record.error().message;
      if (root.has(added)) {
        EXPECT_NE(record.error().message.find(added), std::string::npos) << record.error().message;
      }
    }
    expect_consistent(root, expected);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "broke at " << at;
    if (run.operations <= at) break;
  }
}

TEST(ChangeFault, an_errno_anywhere_in_undo_is_finished_by_the_next_undo) {
  const Expected expected = expected_machines();
  for (int at = 0;; ++at) {
    const ScratchRoot root;
    testing::fill_toy_machine(root);
    Attempt first(root);
    const auto record = apply(first.doors, first.journal, testing::toy_change(), "boot-1");
    ASSERT_TRUE(record);
    Attempt second(root);
    second.break_at(at, Fault::one_errno);
    const bool done = undo(second.doors, second.journal, record->id).has_value();
    expect_consistent(root, expected);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "broke at " << at;
    if (done && second.operations <= at) break;
  }
}

void confirm_interrupted(Fault fault, bool go_on) {
  const Expected expected = expected_machines();
  for (int at = 0;; ++at) {
    const ScratchRoot root;
    testing::fill_toy_machine(root);
    Attempt first(root);
    const auto record = apply(first.doors, first.journal, testing::toy_change(), "boot-1");
    ASSERT_TRUE(record);
    Attempt second(root);
    second.break_at(at, fault);
    const bool done = confirm(second.doors, second.journal, record->id, "").has_value();
    // The last thing that can fail is the folder's fsync, after the record said it.
    if (go_on && !done && only_record(root)->state != State::confirmed) {
      Attempt third(root);
      const auto again = confirm(third.doors, third.journal, record->id, "");
      EXPECT_TRUE(again) << again.error().message;
      EXPECT_TRUE(same(expected.confirmed, root));
    }
    expect_consistent(root, expected);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "broke at " << at;
    if (done && second.operations <= at) break;
  }
}

TEST(ChangeFault, a_crash_in_confirm_can_go_on) {
  confirm_interrupted(Fault::crash, true);
}
TEST(ChangeFault, a_crash_in_confirm_can_go_back) {
  confirm_interrupted(Fault::crash, false);
}
TEST(ChangeFault, an_errno_in_confirm_can_go_on) {
  confirm_interrupted(Fault::one_errno, true);
}
TEST(ChangeFault, an_errno_in_confirm_can_go_back) {
  confirm_interrupted(Fault::one_errno, false);
}

}  // namespace
}  // namespace headroom::change
