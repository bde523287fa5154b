// SPDX-License-Identifier: Apache-2.0
// What is taken out of shell files, and that all the rest stays byte for byte.
#include <gtest/gtest.h>

#include "plan/settings/testing.h"

namespace headroom::plan {
namespace {

using testing::take_out;

std::string from_shell(const std::string& text) {
  return take_out(SettingSyntax::shell, text);
}

// No place is found, so that nothing can be edited.
void expect_left(const std::string& text) {
  EXPECT_EQ(from_shell(text), text);
}

TEST(ShellSettings, an_exported_line_becomes_a_comment) {
  EXPECT_EQ(from_shell("# mine\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\nexport A=1\n"),
            "# mine\n# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=10.3.0\nexport A=1\n");
  EXPECT_EQ(from_shell("HSA_OVERRIDE_GFX_VERSION=10.3.0"),
            "# headroom: taken out: HSA_OVERRIDE_GFX_VERSION=10.3.0");
  EXPECT_EQ(from_shell("\texport HSA_OVERRIDE_GFX_VERSION=\"10.3.0\"  # for comfy\r\nls\r\n"),
            "\t# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=\"10.3.0\"  # for comfy\r\n"
            "ls\r\n");
}

TEST(ShellSettings, a_value_that_goes_on_in_the_next_line_goes_as_a_whole) {
  EXPECT_EQ(from_shell("export HSA_OVERRIDE_GFX_VERSION=10.\\\n3.0\nls\n"),
            "# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=10.3.0\nls\n");
}

TEST(ShellSettings, one_of_several_assignments_goes_alone) {
  EXPECT_EQ(from_shell("export A=1 HSA_OVERRIDE_GFX_VERSION=10.3.0 B='x y'\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "export A=1 B='x y'\n");
  EXPECT_EQ(from_shell("export A=1 HSA_OVERRIDE_GFX_VERSION=10.3.0\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "export A=1\n");
  EXPECT_EQ(from_shell("export HSA_OVERRIDE_GFX_VERSION=10.3.0 PATH\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "export PATH\n");
}

TEST(ShellSettings, a_block_does_not_become_empty) {
  EXPECT_EQ(from_shell("if [ -e /dev/kfd ]; then\n  export HSA_OVERRIDE_GFX_VERSION=10.3.0\nfi\n"),
            "if [ -e /dev/kfd ]; then\n"
            "  : # headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=10.3.0\nfi\n");
  EXPECT_EQ(
      from_shell("f() {\n  # why\n  export HSA_OVERRIDE_GFX_VERSION=1.2.3\n}\n"),
      "f() {\n  # why\n  : # headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=1.2.3\n}\n");
  EXPECT_EQ(from_shell("case $x in\n a)\n  export HSA_OVERRIDE_GFX_VERSION=1.2.3\n  ;;\nesac\n"),
            "case $x in\n a)\n  : # headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=1.2.3\n"
            "  ;;\nesac\n");
}

TEST(ShellSettings, a_command_among_others_becomes_a_no_op) {
  EXPECT_EQ(from_shell("[ -e /dev/kfd ] && export HSA_OVERRIDE_GFX_VERSION=10.3.0; ls\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "[ -e /dev/kfd ] && :; ls\n");
  EXPECT_EQ(from_shell("if true; then export HSA_OVERRIDE_GFX_VERSION=10.3.0; fi\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "if true; then :; fi\n");
}

TEST(ShellSettings, it_is_taken_from_in_front_of_a_command) {
  EXPECT_EQ(from_shell("HSA_OVERRIDE_GFX_VERSION=10.3.0 A=1 python main.py > log 2>&1\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "A=1 python main.py > log 2>&1\n");
  EXPECT_EQ(from_shell("env -i HSA_OVERRIDE_GFX_VERSION=10.3.0 python main.py\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "env -i python main.py\n");
  EXPECT_EQ(from_shell("alias ui='HSA_OVERRIDE_GFX_VERSION=10.3.0 python main.py'\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "alias ui='python main.py'\n");
  EXPECT_EQ(from_shell("ui() { HSA_OVERRIDE_GFX_VERSION=10.3.0 python main.py; }\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "ui() { python main.py; }\n");
}

TEST(ShellSettings, options_of_a_container_engine_go_with_their_value) {
  EXPECT_EQ(from_shell("docker run -e HSA_OVERRIDE_GFX_VERSION=10.3.0 -it rocm/pytorch\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "docker run -it rocm/pytorch\n");
  EXPECT_EQ(from_shell("sudo podman run \\\n  --env=HSA_OVERRIDE_GFX_VERSION=10.3.0 \\\n  x\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "sudo podman run \\\n   \\\n  x\n");
}

TEST(ShellSettings, continued_lines_stay_whole) {
  EXPECT_EQ(from_shell("export A=1 \\\n  HSA_OVERRIDE_GFX_VERSION=10.3.0 \\\n  B=2\nls\n"),
            "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
            "export A=1 \\\n   \\\n  B=2\nls\n");
  EXPECT_EQ(from_shell("export \\\n  HSA_OVERRIDE_GFX_VERSION=10.3.0\nls\n"),
            "# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=10.3.0\nls\n");
}

TEST(ShellSettings, both_of_one_line_go) {
  EXPECT_EQ(
      from_shell("export HSA_OVERRIDE_GFX_VERSION=1.2.3 A=1 HSA_OVERRIDE_GFX_VERSION=4.5.6\n"),
      "# headroom: taken out of the next line: HSA_OVERRIDE_GFX_VERSION=1.2.3, "
      "HSA_OVERRIDE_GFX_VERSION=4.5.6\nexport A=1\n");
}

TEST(ShellSettings, what_only_looks_like_a_setting_is_left) {
  expect_left("# export HSA_OVERRIDE_GFX_VERSION=10.3.0\n");
  expect_left("echo \"export HSA_OVERRIDE_GFX_VERSION=10.3.0\"\n");
  expect_left("cat > x <<'EOF'\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\nEOF\n");
  expect_left("cat <<-EOF\n\texport HSA_OVERRIDE_GFX_VERSION=10.3.0\n\tEOF\n");
  expect_left("x='\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n'\n");
  expect_left("x=\"${y:-\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n}\"\n");
  expect_left("export 'HSA_OVERRIDE_GFX_VERSION'=10.3.0\n");
  expect_left("unset HSA_OVERRIDE_GFX_VERSION\n[ -n \"$HSA_OVERRIDE_GFX_VERSION\" ] && ls\n");
  expect_left("echo 'it is open\nexport HSA_OVERRIDE_GFX_VERSION=10.3.0\n");
}

TEST(ShellSettings, what_stands_behind_a_string_or_document_is_found_again) {
  EXPECT_EQ(
      from_shell("a=\"$(echo \"b # c\")\"\ncat <<E\n'\nE\nexport HSA_OVERRIDE_GFX_VERSION=1.2.3\n"),
      "a=\"$(echo \"b # c\")\"\ncat <<E\n'\nE\n"
      "# headroom: taken out: export HSA_OVERRIDE_GFX_VERSION=1.2.3\n");
}

TEST(ShellSettings, a_later_export_makes_a_plain_assignment_count) {
  const auto plain = find_in_shell("A=1\n", false);
  ASSERT_EQ(plain.places.size(), 1U);
  EXPECT_FALSE(plain.places[0].exported);
  EXPECT_TRUE(find_in_shell("A=1\nexport A\n", false).places[0].exported);
  EXPECT_TRUE(find_in_shell("set -a\nA=1\n", false).places[0].exported);
  EXPECT_FALSE(find_in_shell("set -a\nset +a\nA=1\n", false).places[0].exported);
}

TEST(ShellSettings, fish_sets_with_its_own_command) {
  const auto from_fish = [](const std::string& text) {
    return take_out(SettingSyntax::fish, text);
  };
  EXPECT_EQ(from_fish("set -gx HSA_OVERRIDE_GFX_VERSION 10.3.0\nset -x A 1\n"),
            "# headroom: taken out: set -gx HSA_OVERRIDE_GFX_VERSION 10.3.0\nset -x A 1\n");
  EXPECT_EQ(
      from_fish("if status is-login\n    set --global --export HSA_OVERRIDE_GFX_VERSION 1\nend\n"),
      "if status is-login\n"
      "    # headroom: taken out: set --global --export HSA_OVERRIDE_GFX_VERSION 1\nend\n");
  EXPECT_EQ(from_fish("set -e HSA_OVERRIDE_GFX_VERSION\n"), "set -e HSA_OVERRIDE_GFX_VERSION\n");
}

TEST(ShellSettings, a_name_can_be_replaced_alone) {
  const std::string text = "export A='x:y' OLD=\"a b\" # OLD\n";
  const auto lines = find_in_shell(text, false);
  ASSERT_EQ(lines.places.size(), 2U);
  EXPECT_EQ(rewrite(text, lines, {{}, {Rewrite::rename, "NEW"}}),
            "export A='x:y' NEW=\"a b\" # OLD\n");
}

TEST(ShellSettings, texts_cut_anywhere_are_read) {
  const std::string text =
      "export A=1 \\\n HSA_OVERRIDE_GFX_VERSION=\"1${x:-\"$(ls)\"}\" <<E\n`a`\nE\nb=(1 'c\n')\n";
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const std::string cut = text.substr(0, i);
    EXPECT_EQ(take_out(SettingSyntax::shell, cut, "no such name"), cut);
    from_shell(cut);
    take_out(SettingSyntax::fish, cut);
  }
}

}  // namespace
}  // namespace headroom::plan
