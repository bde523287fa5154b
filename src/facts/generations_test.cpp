// SPDX-License-Identifier: Apache-2.0
#include "facts/generations.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

std::string show(const std::vector<PackageChange>& changes) {
  std::string text;
  for (const PackageChange& one : changes) {
    text += one.time + " " + one.package + " [" + one.from + "] [" + one.to + "]\n";
  }
  return text;
}

TEST(Generations, names_and_links_of_nixos_are_read) {
  EXPECT_EQ(generation_number("system-43-link"), 43U);
  for (const char* name :
       {"system", "system-link", "system--link", "system-x-link", "default-43-link"}) {
    EXPECT_FALSE(generation_number(name)) << name;
  }
  EXPECT_EQ(release_of_generation("/nix/store/0a1b-nixos-system-my-box-25.05.20250801.abc"),
            "25.05.20250801.abc");
  EXPECT_EQ(kernel_of_generation("/nix/store/0a1b-linux-6.12.8/bzImage"), "6.12.8");
  EXPECT_EQ(kernel_of_generation("/nix/store/0a1b-bzImage"), "");
}

TEST(Generations, each_replaces_the_one_before_it_and_perhaps_its_kernel) {
  const std::vector<Generation> generations = {{10, "25.05.c", "6.12.9", "2026-05-03T10:00:00"},
                                               {8, "25.05.a", "6.12.8", "2026-05-01T10:00:00"},
                                               {9, "25.05.b", "6.12.8", "2026-05-02T10:00:00"}};
  EXPECT_EQ(show(changes_of(generations)),
            "2026-05-02T10:00:00 nixos [generation 8 (25.05.a)] [generation 9 (25.05.b)]\n"
            "2026-05-03T10:00:00 nixos [generation 9 (25.05.b)] [generation 10 (25.05.c)]\n"
            "2026-05-03T10:00:00 linux [6.12.8] [6.12.9]\n");
  EXPECT_TRUE(changes_of(std::vector<Generation>{}).empty());
}

TEST(Generations, deployments_follow_one_another_in_time) {
  EXPECT_EQ(deployed_version("NAME=Fedora\nOSTREE_VERSION='42.20250801.0'\n"), "42.20250801.0");
  EXPECT_EQ(deployed_version("NAME=Fedora\n"), "");
  EXPECT_EQ(show(changes_of(std::vector<Deployment>{{"2026-05-03T10:00:00", "42.3"},
                                                    {"2026-05-01T10:00:00", "42.1"}})),
            "2026-05-03T10:00:00 ostree [42.1] [42.3]\n");
}

}  // namespace
}  // namespace headroom::facts
