// SPDX-License-Identifier: Apache-2.0
// The snapshots that other tests trust to see every difference.
#include "support/scratch_root.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace headroom::testing {
namespace {

TEST(ScratchRoot, a_snapshot_sees_every_kind_of_difference) {
  const ScratchRoot root;
  root.write("/etc/a", "one");
  root.link("/etc/l", "a");
  const Snapshot before = root.snapshot();
  EXPECT_EQ(difference(before, root.snapshot()), "");
  root.write("/etc/a", "two");
  EXPECT_EQ(difference(before, root.snapshot()),
            "/etc/a: a file with \"one\", then a file with \"two\"\n");
  root.write("/etc/a", "one", 0600);
  EXPECT_EQ(difference(before, root.snapshot()), "/etc/a: mode 644, then 600\n");
  root.write("/etc/a", "one");
  root.link("/etc/l", "b");
  EXPECT_EQ(difference(before, root.snapshot()), "/etc/l: a link to a, then a link to b\n");
  std::filesystem::remove(root.path("/etc/l"));
  EXPECT_EQ(difference(before, root.snapshot()), "/etc/l: a link to a, then gone\n");
  root.link("/etc/l", "a");
  root.folder("/etc/l.d");
  EXPECT_EQ(difference(before, root.snapshot()), "/etc/l.d: nothing, then a folder\n");
  std::filesystem::remove(root.path("/etc/l.d"));
  if (::setxattr(root.path("/etc/a").c_str(), "user.x", "y", 1, 0) != 0) {
    GTEST_SKIP() << "this file system has no extended attributes";
  }
  EXPECT_EQ(difference(before, root.snapshot()),
            "/etc/a: extended attributes none, then user.x=\"y\"\n");
}

TEST(ScratchRoot, what_is_left_out_leaves_no_trace_but_what_is_beside_it_does) {
  const ScratchRoot root;
  const Snapshot before = root.snapshot("/var/lib/headroom");
  root.write("/var/lib/headroom/changes/x", "x");
  EXPECT_EQ(difference(before, root.snapshot("/var/lib/headroom")), "");
  EXPECT_NE(difference(before, root.snapshot()), "");
  root.write("/var/lib/headroom-other", "x");
  root.write("/var-x/y", "");
  EXPECT_TRUE(root.snapshot("/var/lib/headroom").contains("/var/lib/headroom-other"));
  EXPECT_TRUE(root.snapshot("/var/lib/headroom").contains("/var/lib"));
}

}  // namespace
}  // namespace headroom::testing
