// SPDX-License-Identifier: Apache-2.0
// Every fix that applies on every distribution, interrupted at operation after operation of apply,
// of undo and of confirm, with the distribution's own (stand-in) programs: afterwards undo brings
// every byte back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "change/change_machine.h"
#include "machine/open_root.h"
#include "plan/fix.h"
#include "probe/probe.h"
#include "probe/read_boot_setup.h"
#include "probe/read_libraries.h"
#include "probe/read_setting_files.h"
#include "support/distribution.h"
#include "support/sampling.h"
#include "support/scratch_root.h"
#include "support/test_machines.h"

namespace headroom::change {
namespace {

namespace fs = std::filesystem;
using plan::State;

constexpr auto journal_folder = "/var/lib/headroom";
constexpr auto now = "2026-11-21T22:30:11Z";

// Hundreds of scratch roots with some hundred fsyncs each: in memory, where there is such a place.
class InMemory : public ::testing::Environment {
 public:
  void SetUp() override {
    if (fs::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  }
};
const auto* const in_memory = ::testing::AddGlobalTestEnvironment(new InMemory);

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr) << path;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
}

// What people leave behind, so that more fixes than those of memory limits have something to do.
void add_old_settings(const fs::path& root) {
  write(root / "etc/environment", "PATH=\"/usr/bin\"\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n");
  write(root / "etc/systemd/system/ollama.service",
        "[Service]\nExecStart=/usr/bin/ollama serve\n"
        "Environment=\"HSA_OVERRIDE_GFX_VERSION=10.3.0\" OLLAMA_DEBUG=1\n");
}

std::vector<plan::Change> plan_all(const std::string& root) {
  const auto tables = knowledge::load_gpu_tables();
  const auto opened = machine::open_root(root);
  EXPECT_TRUE(tables && opened);
  const auto facts = probe::probe(opened->files, *tables, {});
  EXPECT_TRUE(facts);
  const auto diagnosis = findings::diagnose({*facts, *tables});
  const auto boot = probe::read_boot_setup(opened->files, facts->machine);
  const auto setting_files = probe::read_setting_files(opened->files, "/root");
  const auto libraries = probe::read_libraries(opened->files);
  plan::FixOptions options;
  options.program = "/usr/bin/headroom";
  const plan::FixSubject subject{*facts,        diagnosis, *tables,   boot,
                                 setting_files, options,   &libraries};
  std::vector<plan::Change> changes;
  for (const plan::Fix* fix : plan::fixes()) {
    if (!fix->applies(subject)) continue;
    auto change = fix->plan(subject);
    EXPECT_TRUE(change) << fix->id << ": " << change.error().message;
    if (change) changes.push_back(*std::move(change));
  }
  return changes;
}

// What the stand-in programs note for themselves is left out, and what ostree keeps: it never goes
// back, it makes another deployment with the old command line.
testing::Snapshot machine_of(const std::string& root) {
  auto snapshot = testing::take_snapshot(root, journal_folder);
  const bool ostree = fs::exists(fs::path(root) / "ostree");
  std::erase_if(snapshot, [ostree](const auto& one) {
    const bool deployment = one.first.starts_with("/boot/loader") || one.first == "/ostree";
    return one.first.starts_with("/.fake") || (ostree && deployment);
  });
  return snapshot;
}

// A copy of a laid-out distribution, and one run of headroom on it that may break.
class Attempt {
 public:
  explicit Attempt(const fs::path& original) {
    root_ = scratch_.path() / "root";
    fs::copy(original, root_, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  std::string root() const { return root_.string(); }

  // Runs `act` with operation number `at` and all that follow broken; -1: none. Returns how many
  // operations it wanted to do.
  template <class Act>
  int run(int at, Act act) {
    auto files = machine::WritableFiles::open(root());
    auto programs = machine::make_programs(root());
    EXPECT_TRUE(files && programs);
    int operations = 0;
    files->before_each([&](std::string_view operation, std::string_view path) -> Status {
      if (at < 0 || operations++ < at) return Done{};
      return Error{Errc::io, fmt::format("{} {}: broken", operation, path), ""};
    });
    Journal journal(*files, journal_folder);
    act(Doors{*files, **programs, now}, journal);
    return operations;
  }

  std::optional<plan::Record> record() {
    std::optional<plan::Record> found;
    run(-1, [&](const Doors&, const Journal& journal) {
      const auto listing = journal.read_all();
      ASSERT_TRUE(listing);
      ASSERT_TRUE(listing->unreadable.empty());
      if (!listing->records.empty()) found = listing->records.front();
    });
    return found;
  }

 private:
  testing::Scratch scratch_;
  fs::path root_;
};

void expect_old_machine(Attempt& attempt, const testing::Snapshot& old_machine,
                        const std::string& where) {
  const auto record = attempt.record();
  std::vector<std::string> left;
  const bool undone_already = !record || record->state == State::undone;
  if (!undone_already) {
    attempt.run(-1, [&](const Doors& doors, Journal& journal) {
      const auto undone = undo(doors, journal, record->id);
      EXPECT_TRUE(undone) << where << ": " << undone.error().message;
      if (undone) left = undone->left;
    });
  }
  auto machine = machine_of(attempt.root());
  // What the interrupted command made beside what was there: whose it is cannot be told.
  for (auto one = machine.begin(); one != machine.end();) {
    const bool named = std::find(left.begin(), left.end(), one->first) != left.end();
    const bool extra = !old_machine.contains(one->first) && record && record->running;
    one = extra && (named || undone_already) ? machine.erase(one) : std::next(one);
  }
  EXPECT_EQ(testing::difference(old_machine, machine), "") << where;
}

// The operations at which a change is broken.
struct Points {
  int first = 0;
  int stride = 1;
};

// Every operation on one distribution for each tool that makes initramfs images, and on the
// machines whose fixes no distribution needs. Every thirteenth on the others, unless everything is
// wanted, and not the same ones on each: of changes that are alike every operation is broken
// somewhere.
Points points_on(const std::string& name) {
  for (const char* representative : {"debian-12", "fedora-42", "arch-systemd-boot", "nixos",
                                     "igpu-first", "two-cards-one-switch"}) {
    if (name == representative) return {};
  }
  const std::size_t stride = testing::stride(13);
  return {static_cast<int>(std::hash<std::string>{}(name) % stride), static_cast<int>(stride)};
}

// Breaks apply, undo and confirm at those operations, and returns how often it did.
int break_at(const Points& points, const fs::path& original, const plan::Change& change) {
  int interruptions = 0;
  const auto old_machine = machine_of(original.string());
  const std::string label = fmt::format("{} on {}", change.fix, original.string());
  const auto do_apply = [&](const Doors& doors, Journal& journal) {
    static_cast<void>(apply(doors, journal, change, "boot-1").has_value());
  };
  const auto do_confirm = [&](const Doors& doors, Journal& journal) {
    const auto listing = journal.read_all();
    if (!listing || listing->records.empty()) return;
    static_cast<void>(confirm(doors, journal, listing->records.front().id, "").has_value());
  };
  const auto do_undo = [&](const Doors& doors, Journal& journal) {
    const auto listing = journal.read_all();
    if (!listing || listing->records.empty()) return;
    static_cast<void>(undo(doors, journal, listing->records.front().id).has_value());
  };
  for (int at = points.first;; at += points.stride) {
    Attempt attempt(original);
    ++interruptions;
    const int wanted = attempt.run(at, do_apply);
    expect_old_machine(attempt, old_machine, fmt::format("{}, apply broke at {}", label, at));
    if (wanted <= at || ::testing::Test::HasFailure()) break;
  }
  for (int at = points.first;; at += points.stride) {
    Attempt attempt(original);
    ++interruptions;
    attempt.run(-1, do_apply);
    const int wanted = attempt.run(at, do_undo);
    expect_old_machine(attempt, old_machine, fmt::format("{}, undo broke at {}", label, at));
    if (wanted <= at || ::testing::Test::HasFailure()) break;
  }
  if (!change.needs_reboot) return interruptions;
  for (int at = points.first;; at += points.stride) {
    Attempt attempt(original);
    ++interruptions;
    attempt.run(-1, do_apply);
    const int wanted = attempt.run(at, do_confirm);
    expect_old_machine(attempt, old_machine, fmt::format("{}, confirm broke at {}", label, at));
    if (wanted <= at || ::testing::Test::HasFailure()) break;
  }
  return interruptions;
}

// Breaks every fix that applies and that does anything; says which in the test's record.
void break_every_fix(const Points& points, const fs::path& original, std::string& fixes,
                     int& interruptions) {
  for (const plan::Change& change : plan_all(original.string())) {
    if (is_by_hand(change)) continue;
    interruptions += break_at(points, original, change);
    fixes += (fixes.empty() ? "" : " ") + change.fix;
    if (::testing::Test::HasFailure()) break;
  }
}

// /proc, /sys, /dev and settings of a test machine on the boot files and programs of an Ubuntu.
void put_on(const std::string& machine, const fs::path& root) {
  const testing::Scratch scratch;
  testing::expand_named(machine, scratch.path());
  for (const char* name : {"proc", "sys", "dev"}) fs::remove_all(root / name);
  fs::remove(scratch.path() / "etc/os-release");
  fs::copy(scratch.path(), root,
           fs::copy_options::recursive | fs::copy_options::copy_symlinks |
               fs::copy_options::overwrite_existing);
}

std::string name_of(std::string name) {
  for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
  return name;
}

class FixFault : public ::testing::TestWithParam<std::string> {};

TEST_P(FixFault, every_fix_broken_anywhere_leaves_the_old_machine) {
  const testing::Scratch scratch;
  const fs::path original = scratch.path() / "original";
  testing::make_distribution(GetParam(), original);
  add_old_settings(original);
  int interruptions = 0;
  std::string fixes;
  break_every_fix(points_on(GetParam()), original, fixes, interruptions);
  EXPECT_FALSE(fixes.empty());
  RecordProperty("interruptions", interruptions);
  RecordProperty("fixes", fixes);
}

INSTANTIATE_TEST_SUITE_P(Distributions, FixFault,
                         ::testing::ValuesIn(testing::distribution_names()),
                         [](const auto& one) { return name_of(one.param); });

class MachineFixFault : public FixFault {};

TEST_P(MachineFixFault, every_fix_broken_anywhere_leaves_the_old_machine) {
  const testing::Scratch scratch;
  const fs::path original = scratch.path() / "original";
  testing::make_distribution("ubuntu-24.04", original);
  put_on(GetParam(), original);
  int interruptions = 0;
  std::string fixes;
  break_every_fix(points_on(GetParam()), original, fixes, interruptions);
  EXPECT_FALSE(fixes.empty());
  RecordProperty("interruptions", interruptions);
  RecordProperty("fixes", fixes);
}

// Each needs another fix.
INSTANTIATE_TEST_SUITE_P(Machines, MachineFixFault,
                         ::testing::Values("igpu-first", "knobs-in-wrong-units",
                                           "strix-halo-stale-initramfs", "strix-halo-live-raise",
                                           "strix-halo-gttsize-above-ram", "two-cards-one-switch",
                                           "apu-gttsize-small"),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace headroom::change
