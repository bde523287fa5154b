// SPDX-License-Identifier: Apache-2.0
#include "facts/kernel_text.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

using namespace literals;

Text text(std::string words) {
  return {std::move(words), Source{"/file", 0, ""}};
}
Text refused() {
  return {Missing{Why::no_permission, ""}, Source{"/file", 0, ""}};
}

TEST(TextFacts, a_number_is_the_whole_word_or_not_understood) {
  EXPECT_EQ(*parse_number(text("16393924\n")), 16393924U);
  EXPECT_EQ(*parse_number(text("0x744c\n")), 0x744cU);
  for (const char* wrong : {"", "\n", "12 34", "12kB", "-1", "99999999999999999999999"}) {
    const auto fact = parse_number(text(wrong));
    ASSERT_FALSE(fact.known()) << wrong;
    EXPECT_EQ(fact.missing().why, Why::not_understood);
  }
}

TEST(TextFacts, what_could_not_be_read_stays_unread_with_its_reason) {
  EXPECT_EQ(parse_number(refused()).missing().why, Why::no_permission);
  EXPECT_EQ(parse_meminfo(refused()).total.missing().why, Why::no_permission);
  EXPECT_EQ(parse_pages_limit(refused()).missing().why, Why::no_permission);
  EXPECT_EQ(find_number(refused(), "simd_count").source().path, "/file");
}

TEST(TextFacts, a_line_is_found_by_its_whole_key) {
  const Text properties = text("simd_count_x 1\nsimd_count 80\nMemTotal:  5 kB\n");
  const auto number = find_number(properties, "simd_count");
  EXPECT_EQ(*number, 80U);
  EXPECT_EQ(number.source().line, 2);
  EXPECT_EQ(number.source().text, "simd_count 80");
  EXPECT_EQ(find_number(properties, "absent").missing().why, Why::not_present);
}

TEST(Meminfo, kilobytes_are_kibibytes) {
  const auto memory = parse_meminfo(
      text("MemTotal:       131151392 kB\nMemFree: 1 kB\nMemAvailable: 121634816 kB\n"));
  EXPECT_EQ(memory.total->value, 131151392ULL * 1024);
  EXPECT_EQ(memory.available->value, 121634816ULL * 1024);
  EXPECT_EQ(memory.gpu_active.missing().why, Why::not_present);
}

TEST(Meminfo, another_unit_or_a_wrapping_number_is_not_understood) {
  for (const char* line : {"MemTotal: 5 MB\n", "MemTotal: 5\n", "MemTotal: x kB\n",
                           "MemTotal: 18446744073709551615 kB\n", "MemTotal:\n"}) {
    EXPECT_EQ(parse_meminfo(text(line)).total.missing().why, Why::not_understood) << line;
  }
}

TEST(PagesLimit, pages_are_4_kib) {
  EXPECT_EQ(parse_pages_limit(text("16393924\n"))->value, 67149512704U);
  EXPECT_EQ(parse_pages_limit(text("18446744073709551615\n")).missing().why, Why::not_understood);
}

TEST(KernelVersion, only_the_numbers_at_the_front_count) {
  EXPECT_EQ(parse_kernel_version("6.14.0-37-generic"), (KernelVersion{6, 14, 0}));
  EXPECT_EQ(parse_kernel_version("4.18.0-553.16.1.el8_10.x86_64"), (KernelVersion{4, 18, 0}));
  EXPECT_EQ(parse_kernel_version("6.12.48+deb13-amd64"), (KernelVersion{6, 12, 48}));
  EXPECT_EQ(parse_kernel_version("7.0-rc1"), (KernelVersion{7, 0, 0}));
  EXPECT_EQ(parse_kernel_version("linux"), std::nullopt);
  EXPECT_EQ(parse_kernel_version("6"), std::nullopt);
  EXPECT_EQ(parse_kernel_version(""), std::nullopt);
}

TEST(Cmdline, the_last_of_two_comes_last_and_quotes_enclose_blanks) {
  const auto options = parse_cmdline(
      text("root=/dev/sda1 amdgpu.gttsize=4096 ttm.pages-limit=5 a.b=\"x y\" amdgpu.gttsize=8192"));
  ASSERT_EQ(options.size(), 4U);
  EXPECT_EQ(options[1].key, "pages_limit");
  EXPECT_EQ(options[2].value, "x y");
  EXPECT_EQ(options[3].value, "8192");
  EXPECT_TRUE(parse_cmdline(text("quiet -- amdgpu.gttsize=1")).empty());
  EXPECT_TRUE(parse_cmdline(refused()).empty());
}

TEST(Modprobe, options_with_comments_and_continued_lines) {
  const auto options = parse_modprobe(text(
      "# options amdgpu gttsize=1\nblacklist radeon\noptions amdgpu \\\n  gttsize=7 vm_size=8\n"
      "options ttm pages_limit=5\n"));
  ASSERT_EQ(options.size(), 3U);
  EXPECT_EQ(options[0].key + "=" + options[0].value, "gttsize=7");
  EXPECT_EQ(options[0].source.line, 4);
  EXPECT_EQ(options[2].module, "ttm");
}

TEST(OsRelease, quotes_are_not_part_of_a_value) {
  const Text release = text("NAME='Debian'\nID=debian\nPRETTY_NAME=\"Debian 12\"\n");
  EXPECT_EQ(*parse_os_release(release, "PRETTY_NAME"), "Debian 12");
  EXPECT_EQ(*parse_os_release(release, "NAME"), "Debian");
  EXPECT_EQ(*parse_os_release(release, "ID"), "debian");
  EXPECT_FALSE(parse_os_release(release, "ID_LIKE").known());
}

TEST(Modules, who_uses_a_module) {
  const Text modules = text("ttm 118784 2 amdgpu,drm_ttm_helper, Live 0x0\nnvme 5 0 - Live 0x0\n");
  EXPECT_EQ(*parse_module_users(modules, "ttm"),
            (std::vector<std::string>{"amdgpu", "drm_ttm_helper"}));
  EXPECT_TRUE(parse_module_users(modules, "nvme")->empty());
  EXPECT_FALSE(parse_module_users(modules, "amdttm").known());
}

TEST(Environment, lines_and_nul_separated_text) {
  EXPECT_EQ(*parse_environment(text("A=1\nexport HSA=\"10.3.0\"\n"), "HSA"), "10.3.0");
  EXPECT_EQ(*parse_environment(text(std::string("A=1\0container=lxc\0", 18)), "container"), "lxc");
  EXPECT_FALSE(parse_environment(text("HSA_MORE=1\n"), "HSA").known());
}

}  // namespace
}  // namespace headroom::facts
