// SPDX-License-Identifier: Apache-2.0
#include "knowledge/gpu_tables.h"

#include <gtest/gtest.h>

namespace headroom::knowledge {
namespace {

const GpuTables& tables() {
  static const GpuTables loaded = *load_gpu_tables();
  return loaded;
}

Support support(const char* gfx) {
  return support_of(*tables().target(gfx));
}

TEST(GpuTables, the_embedded_tables_are_whole) {
  const auto loaded = load_gpu_tables();
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  for (const auto& [gfx, target] : loaded->targets) {
    EXPECT_TRUE(target.wavefront == 32 || target.wavefront == 64) << gfx;
    if (support_of(target) == Support::dropped) {
      EXPECT_NE(loaded->stack(gfx), nullptr) << gfx << " is dropped and no stack carries it";
    }
  }
}

TEST(GpuTables, support_follows_from_the_columns) {
  EXPECT_EQ(support("gfx1100"), Support::official);
  EXPECT_EQ(support("gfx942"), Support::official);
  EXPECT_EQ(support("gfx906"), Support::dropped);
  EXPECT_EQ(support("gfx803"), Support::dropped);
  EXPECT_EQ(support("gfx1031"), Support::community);
  EXPECT_EQ(support("gfx1033"), Support::community);
  EXPECT_EQ(support("gfx904"), Support::override);
  EXPECT_EQ(support("gfx90c"), Support::unsupported);
  EXPECT_EQ(support("gfx902"), Support::unsupported);
  EXPECT_EQ(support("gfx1013"), Support::unsupported);
}

TEST(GpuTables, target_versions_print_minor_and_stepping_as_hexadecimal) {
  EXPECT_EQ(gfx_name(90012), "gfx90c");
  EXPECT_EQ(gfx_name(90010), "gfx90a");
  EXPECT_EQ(gfx_name(90402), "gfx942");
  EXPECT_EQ(gfx_name(80003), "gfx803");
  EXPECT_EQ(gfx_name(110501), "gfx1151");
  EXPECT_EQ(gfx_name(0), std::nullopt);
  EXPECT_EQ(gfx_name(91699), std::nullopt);
  EXPECT_EQ(gfx_name(UINT64_MAX), std::nullopt);
}

std::optional<Risk> risk(const char* gfx, const char* value) {
  const auto judged = judge_override(*tables().target(gfx), value);
  return judged ? std::optional(judged->risk) : std::nullopt;
}

TEST(GpuTables, an_override_of_the_own_target_is_no_override) {
  EXPECT_EQ(risk("gfx1151", "11.5.1"), std::nullopt);
  EXPECT_EQ(risk("gfx906", "9.0.6"), std::nullopt);
  EXPECT_EQ(risk("gfx90a", "9.0.10"), std::nullopt);  // And not the "any value" of its row.
  EXPECT_EQ(risk("gfx906", "10.3.0"), Risk::dangerous);
  EXPECT_EQ(risk("gfx1031", "10.3.0"), Risk::low);
  EXPECT_EQ(risk("gfx1010", "10.3.0"), Risk::dangerous);
  EXPECT_EQ(risk("gfx1100", ""), Risk::dangerous);
}

TEST(GpuTables, an_override_says_why) {
  const auto registers = judge_override(*tables().target("gfx1103"), "11.0.0");
  ASSERT_TRUE(registers.has_value());
  EXPECT_NE(registers->why.find("registers"), std::string::npos);
  const auto instructions = judge_override(*tables().target("gfx1010"), "10.3.0");
  EXPECT_NE(instructions->why.find("instructions"), std::string::npos);
  const auto any = judge_override(*tables().target("gfx90a"), "10.3.0");
  EXPECT_EQ(any->origin.source, "legacy#5238");
  const auto unlisted = judge_override(*tables().target("gfx906"), "10.3.0");
  EXPECT_NE(unlisted->why.find("gfx1030"), std::string::npos);
}

TEST(GpuTables, devices_know_their_target_and_name) {
  const Device* xt = tables().device(0x744c);
  ASSERT_NE(xt, nullptr);
  EXPECT_EQ(xt->gfx, "gfx1100");
  EXPECT_EQ(xt->revisions.at(0xcc), "Radeon RX 7900 XT");
  EXPECT_EQ(tables().device(0x74a0)->integrated, true);
  EXPECT_EQ(tables().device(0x74a1)->integrated, false);
  EXPECT_EQ(tables().device(0xffff), nullptr);
}

Result<GpuTables> parse(const std::string& gpus, const std::string& devices = "") {
  const std::string stacks = "[indexes]\ntorch = \"URL\"\ndevice = \"URL\"\n";
  return parse_gpu_tables({gpus, devices, stacks, "", ""});
}

TEST(GpuTables, a_mistake_in_a_table_names_its_line) {
  const std::string row =
      "rocm = \"10.0\"\n[[target]]\ngfx = \"gfx1\"\nfamily = \"F\"\nchip = \"C\"\n"
      "cards = \"X\"\nwave = 64\n";
  const auto bad_kind = parse(row + "kind = \"round\"\n");
  ASSERT_FALSE(bad_kind.has_value());
  EXPECT_EQ(bad_kind.error().message,
            "data/gpus.toml: line 8: target[0].kind: expected one of integrated, discrete, both, "
            "found \"round\"");
  const auto unknown =
      parse(row + "kind = \"both\"\nwaves = 1\ncertainty = \"A\"\nsource = \"S\"\n");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("line 9"), std::string::npos) << unknown.error().message;
  const std::string devices =
      "[[group]]\ncertainty = \"A\"\nsource = \"S\"\n[group.device]\n"
      "\"1\" = { gfx = \"gfx1\", name = \"N\" }\n";
  const std::string sure = "kind = \"both\"\ncertainty = \"A\"\nsource = \"S\"\n";
  EXPECT_TRUE(parse(row + sure, devices).has_value());
  const auto stranger = parse(row + sure, devices + "\"2\" = { gfx = \"gfx2\", name = \"N\" }\n");
  ASSERT_FALSE(stranger.has_value());
  EXPECT_NE(stranger.error().message.find("line 6"), std::string::npos) << stranger.error().message;
  const auto unsure = parse(row + "kind = \"both\"\nsource = \"S\"\n");
  ASSERT_FALSE(unsure.has_value());
  EXPECT_EQ(
      unsure.error().message,
      "data/gpus.toml: line 2: target[0].certainty: expected one of A, B, C, D, found nothing");
}

}  // namespace
}  // namespace headroom::knowledge
