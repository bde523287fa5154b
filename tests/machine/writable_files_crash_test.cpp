// SPDX-License-Identifier: Apache-2.0
// Every change of WritableFiles broken off before each of its steps: the old or the new is there,
// never a part, and what is left beside it can be found and removed.
#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "machine/writable_files.h"
#include "support/scratch_root.h"

namespace headroom::machine {
namespace {

using headroom::testing::difference;
using headroom::testing::ScratchRoot;
using headroom::testing::Snapshot;

constexpr const char* path = "/etc/default/grub";

FileAttributes ours(std::uint32_t mode = 0640) {
  FileAttributes attributes{mode, ::geteuid(), ::getegid(), {}};
  attributes.extended["user.note"] = "kept";
  return attributes;
}

struct Change {
  std::string name;
  std::function<Status(WritableFiles&)> make;
};

std::vector<Change> changes() {
  return {
      {"replace",
       [](WritableFiles& f) { return f.replace(path, std::string((1U << 20U) + 1, 'n'), ours()); }},
      {"replace, new file", [](WritableFiles& f) { return f.replace("/etc/new", "n", ours()); }},
      {"copy", [](WritableFiles& f) { return f.copy("/boot/image", path, ours()); }},
      {"make_link", [](WritableFiles& f) { return f.make_link("/etc/link", "elsewhere"); }},
      {"make_link over a file", [](WritableFiles& f) { return f.make_link(path, "elsewhere"); }},
      {"remove", [](WritableFiles& f) { return f.remove(path); }},
      {"make_folder", [](WritableFiles& f) { return f.make_folder("/etc/modprobe.d", 0755); }},
      {"remove_folder", [](WritableFiles& f) { return f.remove_folder("/etc/empty"); }},
  };
}

void furnish(const ScratchRoot& root) {
  root.write(path, "old", 0600);
  root.write("/boot/image", std::string((1U << 20U) + 1, 'i'));
  root.link("/etc/link", "here");
  root.folder("/etc/empty");
}

bool has_xattrs(const ScratchRoot& root) {
  return ::setxattr(root.path("/boot/image").c_str(), "user.probe", "", 0, 0) == 0 &&
         ::removexattr(root.path("/boot/image").c_str(), "user.probe") == 0;
}

void remove_leftovers(WritableFiles& files) {
  for (const char* name : {path, "/etc/new", "/etc/link"}) {
    const Status removed = files.remove_leftover(name);
    ASSERT_TRUE(removed.has_value()) << removed.error().message;
  }
}

// How many more operations go well; then either one fails and the rest goes well again (an errno),
// or nothing at all happens any more (a crash).
enum class Fate { fails_once, stops };

WritableFiles::Hook break_after(int good, Fate fate) {
  return [=, left = good](std::string_view operation, std::string_view what) mutable -> Status {
    const bool broken = fate == Fate::stops ? left <= 0 : left == 0;
    --left;
    if (!broken) return Done{};
    return Error{Errc::no_space, std::string(operation) + " " + std::string(what), ""};
  };
}

class WritableFilesCrashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ScratchRoot root;
    furnish(root);
    if (!has_xattrs(root)) GTEST_SKIP() << "this file system has no extended attributes";
  }
};

TEST_F(WritableFilesCrashTest, a_crash_before_any_step_leaves_old_or_new_and_a_leftover_at_most) {
  for (const Change& change : changes()) {
    int points = 0;
    for (bool finished = false; !finished; ++points) {
      ScratchRoot root;
      furnish(root);
      WritableFiles files = *WritableFiles::open(root.string());
      const Snapshot old = root.snapshot();
      files.before_each(break_after(points, Fate::stops));
      finished = change.make(files).has_value();
      files.before_each(nullptr);
      EXPECT_LE(root.snapshot().size(), old.size() + 1) << change.name << " at " << points;
      remove_leftovers(files);
      const Snapshot now = root.snapshot();
      ASSERT_TRUE(change.make(files).has_value()) << change.name;  // Again goes through.
      EXPECT_TRUE(difference(old, now).empty() || difference(now, root.snapshot()).empty())
          << change.name << " at " << points << "\n"
          << difference(old, now).substr(0, 400);
    }
    EXPECT_GE(points, 3) << change.name;  // The change, its sync, and the run to the end.
  }
}

TEST_F(WritableFilesCrashTest, a_step_that_fails_leaves_nothing_behind) {
  std::vector<Change> all = changes();
  all.push_back({"make_folder, for everybody",  // The umask makes it two steps.
                 [](WritableFiles& f) { return f.make_folder("/etc/open", 0777); }});
  for (const Change& change : all) {
    int points = 0;
    for (bool finished = false; !finished; ++points) {
      ScratchRoot root;
      furnish(root);
      WritableFiles files = *WritableFiles::open(root.string());
      const Snapshot old = root.snapshot();
      std::string last;
      files.before_each([&, fail = break_after(points, Fate::fails_once)](
                            std::string_view operation, std::string_view what) mutable {
        Status status = fail(operation, what);
        if (!status) last = operation;
        return status;
      });
      const Status made = change.make(files);
      finished = made.has_value();
      // Once it has its name only the folder's sync can fail; the new is there then.
      if (!finished && last != "sync-folder") {
        EXPECT_EQ(made.error().code, Errc::no_space);
        EXPECT_EQ(difference(old, root.snapshot()), "") << change.name << ", " << last;
      }
    }
  }
}

struct Seen {
  std::string operation;
  std::string path;
};

TEST_F(WritableFilesCrashTest, every_name_is_given_to_what_is_on_disk_and_is_then_synced_itself) {
  for (const Change& change : changes()) {
    ScratchRoot root;
    furnish(root);
    WritableFiles files = *WritableFiles::open(root.string());
    std::vector<Seen> seen;
    files.before_each([&](std::string_view operation, std::string_view what) -> Status {
      seen.push_back({std::string(operation), std::string(what)});
      return Done{};
    });
    ASSERT_TRUE(change.make(files).has_value());
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back().operation, "sync-folder") << change.name;
    for (std::size_t at = 0; at < seen.size(); ++at) {
      if (seen[at].operation != "rename") continue;
      ASSERT_GT(at, 0U);
      ASSERT_LT(at + 1, seen.size());
      const bool of_a_link = seen[0].operation == "link";  // Links have nothing to sync.
      EXPECT_EQ(seen[at - 1].operation, of_a_link ? "link" : "sync") << change.name;
      EXPECT_NE(seen[at - 1].path, seen[at].path);
      EXPECT_EQ(seen[at + 1].operation, "sync-folder") << change.name;
      EXPECT_TRUE(seen[at].path.starts_with(seen[at + 1].path + "/"));
    }
  }
}

TEST_F(WritableFilesCrashTest, a_leftover_of_before_is_no_obstacle) {
  ScratchRoot root;
  furnish(root);
  root.write("/etc/default/.grub.headroom-new", "half");
  WritableFiles files = *WritableFiles::open(root.string());
  ASSERT_TRUE(files.replace(path, "new", ours()).has_value());
  EXPECT_FALSE(root.has("/etc/default/.grub.headroom-new"));
  EXPECT_EQ(root.read(path), "new");
}

}  // namespace
}  // namespace headroom::machine
