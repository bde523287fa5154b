// SPDX-License-Identifier: Apache-2.0
#include "facts/wsl.h"

#include <gtest/gtest.h>

namespace headroom::facts {
namespace {

TEST(Wsl, the_kernels_release_tells_which_one) {
  EXPECT_EQ(wsl_kind_of("4.4.0-19041-Microsoft"), WslKind::wsl1);
  EXPECT_EQ(wsl_kind_of("4.19.84-microsoft-standard"), WslKind::wsl2);
  EXPECT_EQ(wsl_kind_of("6.6.87.2-microsoft-standard-WSL2"), WslKind::wsl2);
  EXPECT_EQ(wsl_kind_of("6.8.0-1021-azure"), WslKind::none) << "a virtual machine, but no WSL";
  EXPECT_EQ(wsl_kind_of("6.14.0-37-generic"), WslKind::none);
}

TEST(Wsl, a_runtime_tells_its_route_by_the_names_in_it) {
  EXPECT_EQ(find_dxg_route(std::string("\x7f"
                                       "ELF\0/dev/kfd\0/dev/dxg\0",
                                       24)),
            DxgRoute::rocdxg);
  EXPECT_EQ(find_dxg_route("/dev/dxg libdxcore.so D3DKMTEscape"), DxgRoute::built_in);
  EXPECT_EQ(find_dxg_route("/dev/kfd libhsakmt"), DxgRoute::none);
}

Text inf(std::string text) {
  return {std::move(text), Source{"/usr/lib/wsl/drivers/u0/u0.inf", 0, ""}};
}

TEST(Wsl, the_drivers_version_is_read_from_its_inf) {
  const Text version = parse_driver_version(
      inf("[Version]\r\nSignature=\"$Windows NT$\"\r\nDriverVer=01/20/2026, 32.0.21025.1024 \r\n"));
  ASSERT_TRUE(version.known());
  EXPECT_EQ(*version, "32.0.21025.1024");
  EXPECT_EQ(version.source().line, 3);
}

TEST(Wsl, an_inf_in_utf_16_says_the_same) {
  std::string wide = "\xff\xfe";
  for (const char c : std::string("[Version]\nDriverVer = 1/2/2026,32.0.1.2\n")) {
    wide += c;
    wide += '\0';
  }
  EXPECT_EQ(*parse_driver_version(inf(wide)), "32.0.1.2");
}

TEST(Wsl, an_inf_that_does_not_say_is_missing) {
  EXPECT_EQ(parse_driver_version(inf("[Version]\n")).missing().why, Why::not_present);
  EXPECT_EQ(parse_driver_version(inf("DriverVer=\n")).missing().why, Why::not_understood);
  EXPECT_EQ(
      parse_driver_version({Missing{Why::no_permission, ""}, Source{"/x", 0, ""}}).missing().why,
      Why::no_permission);
}

TEST(Wsl, only_amds_display_driver_is_taken_for_one) {
  EXPECT_TRUE(is_amd_display_driver("u0198633.inf_amd64_f6ca42135bb94c90"));
  EXPECT_FALSE(is_amd_display_driver("nvlti.inf_amd64_70bff6400ff3c791"));
  EXPECT_FALSE(is_amd_display_driver("u0.inf_amd64_1"));
  EXPECT_FALSE(is_amd_display_driver("usb0001.inf_amd64_1"));
}

}  // namespace
}  // namespace headroom::facts
