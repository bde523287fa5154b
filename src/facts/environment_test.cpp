// SPDX-License-Identifier: Apache-2.0
#include "facts/environment.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace headroom::facts {
namespace {

// "line NAME=VALUE", with "*" before what no program sees.
std::vector<std::string> read(const std::string& text) {
  std::vector<std::string> lines;
  for (const Setting& one : parse_snippet({text, Source{"file", 0, ""}}, Scope::given, {"iommu"})) {
    lines.push_back(std::to_string(one.source.line) + (one.exported ? " " : " *") + one.name + "=" +
                    one.value);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(Snippet, shell_exports_with_quotes_comments_and_continued_lines) {
  EXPECT_EQ(read("# a\nexport A=1 B='two words'  # b\nexport C=\"x\\\"y\" \\\n  D=4\n"),
            (Lines{"2 A=1", "2 B=two words", "3 C=x\"y", "3 D=4"}));
}

TEST(Snippet, a_shells_plain_assignment_is_seen_by_no_program) {
  EXPECT_EQ(read("export A=1\nB=2\n"), (Lines{"1 A=1", "2 *B=2"}));
  EXPECT_EQ(read("B=2\npython train.py\n"), (Lines{"1 *B=2"}));
  EXPECT_EQ(read("B=2\nexport B\n"), (Lines{"1 B=2"}));
  EXPECT_EQ(read("set -a\nB=2\nset +a\nC=3\n"), (Lines{"2 B=2", "4 *C=3"}));
}

TEST(Snippet, nothing_but_assignments_is_an_env_file) {
  EXPECT_EQ(read("A=1\nB='2'\n"), (Lines{"1 A=1", "2 B=2"}));
}

TEST(Snippet, assignments_before_a_command_reach_it) {
  EXPECT_EQ(read("A=1 B=2 python train.py --x=3\n"), (Lines{"1 A=1", "1 B=2"}));
  EXPECT_EQ(read("env -i A=1 python t.py; sudo C=3 d\n"), (Lines{"1 A=1", "1 C=3"}));
  EXPECT_EQ(read("cd x && A=1 ./run\n"), (Lines{"1 A=1"}));
}

TEST(Snippet, unset_takes_back) {
  EXPECT_EQ(read("export A=1 B=2\nunset A\n"), (Lines{"1 B=2"}));
}

TEST(Snippet, fish_csh_and_python) {
  EXPECT_EQ(read("set -gx A 1\nsetenv B 2\n"), (Lines{"1 A=1", "2 B=2"}));
  EXPECT_EQ(
      read(
          "os.environ[\"A\"] = '1'\nos.environ.setdefault('B', '2')\nif os.environ['C'] == 'x':\n"),
      (Lines{"1 A=1", "2 B=2"}));
}

TEST(Snippet, dockerfile_and_docker_run) {
  EXPECT_EQ(read("FROM rocm/pytorch\nENV A=1 B=\"2 3\"\nENV C 4 5\n"),
            (Lines{"2 A=1", "2 B=2 3", "3 C=4 5"}));
  EXPECT_EQ(read("docker run -e A=1 --env B=2 --env=C=3 -eD=4 image -x\n"),
            (Lines{"1 A=1", "1 B=2", "1 C=3", "1 D=4"}));
}

TEST(Snippet, compose_as_list_and_as_map) {
  EXPECT_EQ(
      read("services:\n  a:\n    image: x\n    environment:\n      - A=1\n      - \"B=2\"  # c\n"
           "    devices:\n      - C=3\n"),
      (Lines{"5 A=1", "6 B=2"}));
  EXPECT_EQ(read("environment:\n  A: \"1\"\n  B: two # c\n  C: 'x # y'\nother: 1\n"),
            (Lines{"2 A=1", "3 B=two", "4 C=x # y"}));
  EXPECT_EQ(read("env:\n- name: A\n  value: \"1\"\n- name: B\n  valueFrom: x\n"), (Lines{"3 A=1"}));
}

TEST(Snippet, systemd_and_quadlet) {
  EXPECT_EQ(read("[Service]\nEnvironment=\"A=1\" 'B=2 3' C=4\nExecStart=/usr/bin/env D=5 serve\n"
                 "UnsetEnvironment=C\nMemoryMax=4G\n"),
            (Lines{"2 A=1", "2 B=2 3", "3 D=5"}));
  EXPECT_EQ(read("[Container]\nEnvironment=A=1\nPodmanArgs=--env B=2\nImage=x\n"),
            (Lines{"2 A=1", "3 B=2"}));
  EXPECT_EQ(read("[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=B=2\n"), (Lines{"4 B=2"}));
}

TEST(Snippet, module_options_wherever_they_are_written) {
  EXPECT_EQ(read("# x\noptions amdgpu vm_size=1 gttsize=2\noptions snd index=1\n"),
            (Lines{"2 amdgpu.vm_size=1", "2 amdgpu.gttsize=2"}));
  EXPECT_EQ(read("BOOT_IMAGE=/vmlinuz root=/dev/a ro quiet iommu=pt amdgpu.gtt-size=5\n"),
            (Lines{"1 iommu=pt", "1 amdgpu.gtt_size=5"}));
  EXPECT_EQ(
      read("sudo grubby --update-kernel=ALL --args=\"ttm.pages_limit=7 ttm.page_pool_size=7\"\n"),
      (Lines{"1 ttm.pages_limit=7", "1 ttm.page_pool_size=7"}));
  EXPECT_EQ(read("echo 'options ttm pages_limit=3' | sudo tee /etc/modprobe.d/ttm.conf\n"),
            (Lines{"1 ttm.pages_limit=3"}));
}

TEST(Snippet, only_what_is_set_is_kept_of_a_line) {
  const auto settings = parse_snippet(
      {std::string("docker run -e TOKEN=secret -e A=1 x"), Source{"f", 0, ""}}, Scope::given);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[1].source.text, "A=1");
}

TEST(Snippet, nonsense_yields_nothing) {
  for (const char* text : {"", "\n\n", "=", "= =", "export", "export =1", "\"", "'a", "\\", "-e",
                           "docker run -e", "environment:", "os.environ[", "options amdgpu"}) {
    EXPECT_TRUE(read(text).empty()) << text;
  }
}

TEST(Environ, entries_end_with_nul) {
  const std::string text("A=1\0B=x=y\0broken\0", 17);
  const auto settings = parse_environ({text, Source{"/proc/7/environ", 0, ""}}, Scope::process, 7);
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[1].value, "x=y");
  EXPECT_EQ(settings[1].pid, 7U);
}

TEST(Unit, other_lines_of_a_unit_are_not_looked_at) {
  const auto settings =
      parse_unit({std::string("[Service]\nA=1\nexport B=2\nEnvironment=C=3\n"), Source{"u", 0, ""}},
                 Scope::unit);
  ASSERT_EQ(settings.size(), 1U);
  EXPECT_EQ(settings[0].name, "C");
}

}  // namespace
}  // namespace headroom::facts
