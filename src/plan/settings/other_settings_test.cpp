// SPDX-License-Identifier: Apache-2.0
// Units, quadlets, login files and compose files: what is taken out, and what stays as it is.
#include <gtest/gtest.h>

#include "plan/settings/testing.h"

namespace headroom::plan {
namespace {

using testing::take_out;

constexpr auto unit = SettingSyntax::unit;
constexpr auto compose = SettingSyntax::compose;

TEST(UnitSettings, a_line_of_its_own_becomes_a_comment) {
  EXPECT_EQ(take_out(unit, "[Service]\nEnvironment=HSA_OVERRIDE_GFX_VERSION=10.3.0\nUser=a\n"),
            "[Service]\n# headroom: taken out: Environment=HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "User=a\n");
  EXPECT_EQ(take_out(unit, "Environment = \"HSA_OVERRIDE_GFX_VERSION=10.3.0\"\r\n"),
            "# headroom: taken out: Environment = \"HSA_OVERRIDE_GFX_VERSION=10.3.0\"\r\n");
  EXPECT_EQ(take_out(unit, "[Manager]\nDefaultEnvironment=HSA_OVERRIDE_GFX_VERSION=10.3.0"),
            "[Manager]\n"
            "# headroom: taken out: DefaultEnvironment=HSA_OVERRIDE_GFX_VERSION=10.3.0");
}

TEST(UnitSettings, one_of_several_goes_alone) {
  EXPECT_EQ(take_out(unit, "Environment=\"A=1 2\" HSA_OVERRIDE_GFX_VERSION=10.3.0 'B=3'\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "Environment=\"A=1 2\" 'B=3'\n");
  EXPECT_EQ(take_out(unit, "Environment=A=1 \"HSA_OVERRIDE_GFX_VERSION=10.3.0\"\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "Environment=A=1\n");
}

TEST(UnitSettings, continued_lines_stay_whole) {
  EXPECT_EQ(take_out(unit, "Environment=A=1 \\\n  HSA_OVERRIDE_GFX_VERSION=1.2.3 \\\n  B=2\nX=1\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=1.2.3\n"
            "Environment=A=1 \\\n   \\\n  B=2\nX=1\n");
  EXPECT_EQ(take_out(unit, "Environment= \\\n  HSA_OVERRIDE_GFX_VERSION=1.2.3\nX=1\n"),
            "# headroom: taken out: Environment= HSA_OVERRIDE_GFX_VERSION=1.2.3\nX=1\n");
}

TEST(UnitSettings, what_is_no_setting_or_not_sure_is_left) {
  for (const char* text :
       {"#Environment=HSA_OVERRIDE_GFX_VERSION=1\n", ";Environment=HSA_OVERRIDE_GFX_VERSION=1\n",
        "ExecStart=/usr/bin/env HSA_OVERRIDE_GFX_VERSION=1 x\n",
        "UnsetEnvironment=HSA_OVERRIDE_GFX_VERSION\n", "Environment=\n",
        "Environment=A=1 \\\n# no\nHSA_OVERRIDE_GFX_VERSION=1\n",
        "Environment=\"HSA_OVERRIDE_GFX_VERSION=1\n", "EnvironmentFile=/etc/default/x\n",
        "ExecStart=a \\\nEnvironment=HSA_OVERRIDE_GFX_VERSION=1\n", "# a \\\n",
        "Environment=HSA_OVERRIDE_GFX_VERSION\n"}) {
    EXPECT_EQ(take_out(unit, text), text);
  }
}

TEST(PlainSettings, lines_become_comments) {
  EXPECT_EQ(take_out(SettingSyntax::assignments,
                     "PATH=\"/bin\"\nHSA_OVERRIDE_GFX_VERSION=\"10.3.0\"\n\nA=1"),
            "PATH=\"/bin\"\n# headroom: taken out: HSA_OVERRIDE_GFX_VERSION=\"10.3.0\"\n\nA=1");
  EXPECT_EQ(take_out(SettingSyntax::assignments, "export HSA_OVERRIDE_GFX_VERSION=1\r\n"),
            "# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=1\r\n");
  EXPECT_EQ(take_out(SettingSyntax::pam, "A DEFAULT=1\nHSA_OVERRIDE_GFX_VERSION DEFAULT=10.3.0\n"),
            "A DEFAULT=1\n# headroom: taken out: HSA_OVERRIDE_GFX_VERSION DEFAULT=10.3.0\n");
}

TEST(PlainSettings, values_are_read_without_their_quotes) {
  EXPECT_EQ(find_in_assignments("A='x y'\n").places[0].value, "x y");
  EXPECT_EQ(find_in_pam("A DEFAULT=1 OVERRIDE=\"2 3\"\n").places[0].value, "2 3");
  EXPECT_EQ(find_in_pam("A=5\n").places[0].value, "5");
  EXPECT_TRUE(find_in_assignments("#A=1\nA B=1\n=1\nA=1\\\nB=2\n").places.empty());
}

TEST(ComposeSettings, items_of_lists_and_maps_become_comments) {
  EXPECT_EQ(take_out(compose,
                     "services:\n  a:\n    environment:\n      - A=1\n"
                     "      - HSA_OVERRIDE_GFX_VERSION=10.3.0  # old\n    image: x\n"),
            "services:\n  a:\n    environment:\n      - A=1\n"
            "      # headroom: taken out: - HSA_OVERRIDE_GFX_VERSION=10.3.0  # old\n"
            "    image: x\n");
  EXPECT_EQ(
      take_out(compose, "    environment:\n    - \"HSA_OVERRIDE_GFX_VERSION=10.3.0\"\n    - B\n"),
      "    environment:\n"
      "    # headroom: taken out: - \"HSA_OVERRIDE_GFX_VERSION=10.3.0\"\n    - B\n");
  EXPECT_EQ(
      take_out(compose, "    environment:\n      HSA_OVERRIDE_GFX_VERSION: '10.3.0'\n      B: 1\n"),
      "    environment:\n"
      "      # headroom: taken out: HSA_OVERRIDE_GFX_VERSION: '10.3.0'\n      B: 1\n");
}

TEST(ComposeSettings, a_list_that_becomes_empty_stays_valid) {
  EXPECT_EQ(take_out(compose, "    environment:  # gpu\n      - HSA_OVERRIDE_GFX_VERSION=1.2.3\n"),
            "    environment: []  # gpu\n"
            "      # headroom: taken out: - HSA_OVERRIDE_GFX_VERSION=1.2.3\n");
  EXPECT_EQ(
      take_out(compose, "x-env: &gpu\n  HSA_OVERRIDE_GFX_VERSION: 1.2.3\nservices:\n"),
      "x-env: &gpu {}\n  # headroom: taken out: HSA_OVERRIDE_GFX_VERSION: 1.2.3\nservices:\n");
  EXPECT_EQ(take_out(compose, "environment:\n  <<: *gpu\n  HSA_OVERRIDE_GFX_VERSION: 1.2.3\n"),
            "environment:\n  <<: *gpu\n  # headroom: taken out: HSA_OVERRIDE_GFX_VERSION: 1.2.3\n");
}

TEST(ComposeSettings, flow_collections_lose_one_element) {
  const std::string mark =
      "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=1.2.3\n";
  EXPECT_EQ(take_out(compose, "environment: [\"A=1\", \"HSA_OVERRIDE_GFX_VERSION=1.2.3\"]\n"),
            mark + "environment: [\"A=1\"]\n");
  EXPECT_EQ(take_out(compose, "  environment: [HSA_OVERRIDE_GFX_VERSION=1.2.3, A=1]  # x\n"),
            "  " + mark + "  environment: [A=1]  # x\n");
  EXPECT_EQ(take_out(compose, "environment: { HSA_OVERRIDE_GFX_VERSION: \"1.2.3\", A: 1 }\n"),
            mark + "environment: { A: 1 }\n");
  EXPECT_EQ(take_out(compose, "environment: {HSA_OVERRIDE_GFX_VERSION: 1.2.3}\n"),
            mark + "environment: {}\n");
}

TEST(ComposeSettings, what_stands_elsewhere_is_left) {
  for (const char* text :
       {"command: HSA_OVERRIDE_GFX_VERSION=1 python\n",
        "command: |\n  environment:\n    - HSA_OVERRIDE_GFX_VERSION=1\n",
        "build:\n  args:\n    HSA_OVERRIDE_GFX_VERSION: 1\n",
        "environment: [A=1,\n  HSA_OVERRIDE_GFX_VERSION=1]\n",
        "environment:\n  - A=1\nlabels:\n  - HSA_OVERRIDE_GFX_VERSION=1\n",
        "environment:\n  - HSA_OVERRIDE_GFX_VERSION\n", "environment: *shared\n"}) {
    EXPECT_EQ(take_out(compose, text), text);
  }
}

TEST(Settings, texts_cut_anywhere_are_read) {
  const std::string text =
      "Environment=A=1 \\\n# x\n \"B=2\\\"\"\nenvironment: &a  # b\n  - \"A=1\"\n  - B\n"
      "environment: {A: \"1\", 'B': 2}\nx: |\n  a\nenvironment:\n  A: b: c\n";
  for (const auto syntax : {SettingSyntax::unit, SettingSyntax::compose, SettingSyntax::assignments,
                            SettingSyntax::pam}) {
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const std::string cut = text.substr(0, i);
      EXPECT_EQ(take_out(syntax, cut, "no such name"), cut);
      take_out(syntax, cut, "A");
    }
  }
}

TEST(Settings, a_path_tells_the_syntax) {
  EXPECT_EQ(syntax_of("/var/home/a/.bashrc"), SettingSyntax::shell);
  EXPECT_EQ(syntax_of("/etc/profile.d/rocm.sh"), SettingSyntax::shell);
  EXPECT_EQ(syntax_of("/etc/environment"), SettingSyntax::assignments);
  EXPECT_EQ(syntax_of("/var/home/a/.config/environment.d/gpu.conf"), SettingSyntax::assignments);
  EXPECT_EQ(syntax_of("/etc/systemd/system/a.service.d/gpu.conf"), SettingSyntax::unit);
  EXPECT_EQ(syntax_of("/var/home/a/.config/containers/systemd/a.container"),
            SettingSyntax::quadlet);
  EXPECT_EQ(syntax_of("/srv/a/docker-compose.override.yml"), SettingSyntax::compose);
  EXPECT_EQ(syntax_of("/srv/a/.env"), SettingSyntax::assignments);
  EXPECT_EQ(syntax_of("/etc/default/ollama"), SettingSyntax::assignments);
  EXPECT_EQ(syntax_of("/var/home/a/.pam_environment"), SettingSyntax::pam);
}

}  // namespace
}  // namespace headroom::plan
