// SPDX-License-Identifier: Apache-2.0
#include "knowledge/package_table.h"

#include <gtest/gtest.h>

namespace headroom::knowledge {
namespace {

TEST(PackageTable, the_embedded_table_knows_what_decides_about_a_gpu) {
  const auto table = load_package_table();
  ASSERT_TRUE(table) << table.error().message;
  struct Row {
    PackageManager manager;
    const char* package;
    PackageKind kind;
  };
  for (const Row& row :
       {Row{PackageManager::apt, "linux-image-6.14.0-37-generic", PackageKind::kernel},
        Row{PackageManager::apt, "linux-firmware", PackageKind::firmware},
        Row{PackageManager::apt, "amdgpu-dkms", PackageKind::driver},
        Row{PackageManager::apt, "hip-runtime-amd6.4.0", PackageKind::rocm},
        Row{PackageManager::pacman, "linux", PackageKind::kernel},
        Row{PackageManager::pacman, "ollama-rocm", PackageKind::framework},
        Row{PackageManager::dnf, "kernel-core", PackageKind::kernel},
        Row{PackageManager::zypp, "Mesa", PackageKind::graphics},
        Row{PackageManager::pip, "torch", PackageKind::framework}}) {
    const PackageFamily* family = table->family(row.manager, row.package);
    ASSERT_NE(family, nullptr) << row.package;
    EXPECT_EQ(to_string(family->kind), to_string(row.kind)) << row.package;
  }
  // Names of a kernel elsewhere, and packages that are nobody's business.
  EXPECT_EQ(table->family(PackageManager::apt, "linux"), nullptr);
  EXPECT_EQ(table->family(PackageManager::apt, "keepassxc"), nullptr);
  ASSERT_NE(table->suspects_of("rocm-regression"), nullptr);
  EXPECT_EQ(table->suspects_of("job-too-big"), nullptr);
}

TEST(PackageTable, a_star_stands_for_any_letters) {
  EXPECT_TRUE(matches_package("rocm*", "rocm"));
  EXPECT_TRUE(matches_package("python*-torch", "python3-torch"));
  EXPECT_FALSE(matches_package("python3*3-torch", "python3-torch"));
  EXPECT_FALSE(matches_package("rocm", "rocm-core"));
}

TEST(PackageTable, what_is_wrong_names_its_place) {
  const std::string row = "certainty = \"A\"\nsource = \"x\"\n";
  for (const std::string& text :
       {"[[family]]\nkind = \"shoes\"\nnames = [\"a\"]\n" + row,
        "[[family]]\nkind = \"rocm\"\nnames = [\"a*b*\"]\n" + row,
        "[[family]]\nkind = \"rocm\"\nnames = []\n" + row,
        "[[way_back]]\nmanager = \"brew\"\nsays = \"a\"\n" + row,
        std::string("[[suspects]]\ncause = \"a\"\nkinds = [\"moon\"]\n"),
        std::string("[[suspects]]\ncause = \"a\"\nkinds = []\n[[suspects]]\ncause = \"a\"\n")}) {
    const auto table = parse_package_table(text);
    ASSERT_FALSE(table) << text;
    EXPECT_NE(table.error().message.find("data/packages.toml"), std::string::npos);
  }
}

}  // namespace
}  // namespace headroom::knowledge
