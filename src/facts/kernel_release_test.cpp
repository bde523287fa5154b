// SPDX-License-Identifier: Apache-2.0
#include "facts/kernel_release.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

knowledge::KernelFix fix() {
  knowledge::KernelFix fix;
  fix.mainline = "6.18.4";
  fix.ubuntu = {{"generic", "6.17.0", "19.19~24.04.2"}, {"oem", "6.14.0", "1018"}};
  fix.may_carry = {{"fedora", "6.17"}, {"proxmox", "6.14"}, {"rhel", "5.14"}};
  return fix;
}

HasFix has(const char* release, const char* signature = "", bool own_driver = false) {
  const auto kernel = parse_kernel_release(release, signature);
  EXPECT_TRUE(kernel.has_value()) << release;
  const FixState state = has_fix(*kernel, fix(), own_driver);
  EXPECT_TRUE(state.why.ends_with('.')) << state.why;
  return state.has;
}

TEST(KernelRelease, its_own_name_says_who_built_it) {
  const auto distribution = [](const char* release) {
    return parse_kernel_release(release)->distribution;
  };
  EXPECT_EQ(distribution("6.17.0-19-generic\n"), "ubuntu");
  EXPECT_EQ(distribution("6.14.0-1018-oem"), "ubuntu");
  EXPECT_EQ(distribution("6.12.48+deb13-amd64"), "debian");
  EXPECT_EQ(distribution("6.1.0-40-amd64"), "debian");
  EXPECT_EQ(distribution("6.17.9-300.fc43.x86_64"), "fedora");
  EXPECT_EQ(distribution("4.18.0-553.16.1.el8_10.x86_64"), "rhel");
  EXPECT_EQ(distribution("6.14.11-1-pve"), "proxmox");
  EXPECT_EQ(distribution("6.1.52-valve16-1-neptune-61"), "steamos");
  EXPECT_EQ(distribution("6.17.9-arch1-1"), "arch");
  EXPECT_EQ(distribution("6.12.64-1-lts"), "");
  EXPECT_EQ(distribution("6.14.0-5600g"), "");
  EXPECT_EQ(parse_kernel_release("6.14.0-1018-oem")->flavour, "oem");
  EXPECT_EQ(parse_kernel_release("6.14.0-1018-oem")->package, "1018");
  EXPECT_FALSE(parse_kernel_release("generic").has_value());
}

TEST(KernelRelease, mainline_kernels_are_told_by_their_version) {
  EXPECT_EQ(has("6.18.3"), HasFix::no);
  EXPECT_EQ(has("6.18.4-arch1-1"), HasFix::yes);
  EXPECT_EQ(has("6.17.9-arch1-1"), HasFix::no);
  EXPECT_EQ(has("7.0.0"), HasFix::yes);
  EXPECT_EQ(has("6.12.48+deb13-amd64"), HasFix::no);
}

TEST(KernelRelease, ubuntu_counts_its_own_packages) {
  EXPECT_EQ(has("6.14.0-1017-oem"), HasFix::no);
  EXPECT_EQ(has("6.14.0-1018-oem"), HasFix::yes);
  EXPECT_EQ(has("6.14.0-1020-oem"), HasFix::yes);
  EXPECT_EQ(has("6.17.0-18-generic"), HasFix::no);
  EXPECT_EQ(has("6.17.0-20-generic"), HasFix::yes);
  EXPECT_EQ(has("6.17.0-20-lowlatency"), HasFix::yes);
  EXPECT_EQ(has("6.14.0-37-generic"), HasFix::no);
  EXPECT_EQ(has("7.0.0-29-generic"), HasFix::yes);
}

// uname shows 19 for every upload of it; the signature shows which one it is.
TEST(KernelRelease, of_the_package_itself_the_signature_tells) {
  EXPECT_EQ(has("6.17.0-19-generic"), HasFix::cannot_tell);
  const char* first = "Ubuntu 6.17.0-19.19~24.04.1-generic 6.17.13\n";
  const char* second = "Ubuntu 6.17.0-19.19~24.04.2-generic 6.17.13\n";
  EXPECT_EQ(has("6.17.0-19-generic", first), HasFix::no);
  EXPECT_EQ(has("6.17.0-19-generic", second), HasFix::yes);
  EXPECT_EQ(has("6.17.0-19-generic", "Ubuntu 6.17.0-20.20-generic 6.17.14"), HasFix::cannot_tell);
  EXPECT_EQ(has("6.17.0-19-generic", "Ubuntu -"), HasFix::cannot_tell);
}

TEST(KernelRelease, what_may_carry_it_cannot_be_told) {
  EXPECT_EQ(has("6.17.9-300.fc43.x86_64"), HasFix::cannot_tell);
  EXPECT_EQ(has("6.12.9-200.fc41.x86_64"), HasFix::no) << "older than the change itself";
  EXPECT_EQ(has("6.14.11-1-pve"), HasFix::cannot_tell);
  EXPECT_EQ(has("5.14.0-570.el9.x86_64"), HasFix::cannot_tell);
  EXPECT_EQ(has("6.17.0-1005-oem"), HasFix::cannot_tell) << "a later series than the one listed";
  EXPECT_EQ(has("6.17.0-1004-aws"), HasFix::cannot_tell) << "a flavour that is not listed";
  EXPECT_EQ(has("6.18.0-5-generic"), HasFix::cannot_tell) << "it may follow 6.18.4";
  EXPECT_EQ(has("6.14.0-1017-oem", "", true), HasFix::cannot_tell) << "AMD's driver, not Linux's";
}

TEST(KernelRelease, ranges_are_half_open) {
  EXPECT_TRUE(in_range({6, 10, 0}, {"6.10", "6.15"}));
  EXPECT_FALSE(in_range({6, 15, 0}, {"6.10", "6.15"}));
  EXPECT_TRUE(in_range({5, 4, 0}, {"0", "6.10"}));
  EXPECT_FALSE(in_range({5, 4, 0}, {"x", "6.10"}));
}

}  // namespace
}  // namespace headroom::facts
