// SPDX-License-Identifier: Apache-2.0
// Causes that show in what two outputs say together, as people put them into a report.
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

TEST(ReportedCauses, nothing_free_that_nobody_holds_is_a_wrong_figure) {
  const std::string asked = "torch.cuda.mem_get_info() returns (4096, 16987488256)\n";
  EXPECT_EQ(diagnose(asked, amd).cause.id, "free-memory-misreported");
  const std::string held = "8123  llama-server 1      16801094656 0         0\n";
  EXPECT_LT(
      confidence_of(
          diagnose("PID   PROCESS NAME GPU(s) VRAM USED   SDMA USED CU OCCUPANCY\n" + held + asked,
                   amd),
          "free-memory-misreported"),
      0.6);
}

TEST(ReportedCauses, a_card_that_is_listed_as_another_target_has_an_override) {
  const std::string fault =
      "Memory access fault by GPU node-2 (Agent handle: 0x5a) on address (nil). Reason: Unknown.\n";
  const auto listed = [](const char* target) {
    return std::string("$ rocminfo\n  Name:                    ") + target +
           "\n  Marketing Name:          AMD Instinct MI210\n";
  };
  EXPECT_EQ(diagnose(fault + listed("gfx1030"), amd).cause.id, "gfx-override-wrong");
  EXPECT_NE(diagnose(fault + listed("gfx90a"), amd).cause.id, "gfx-override-wrong");
}

TEST(ReportedCauses, a_compiler_older_than_pytorchs_release_does_not_know_its_options) {
  const std::string build =
      "[23/2334] /opt/rocm-5.7.1/bin/hipcc -Itorch/include\n"
      "clang (LLVM option parsing): Unknown command line argument "
      "'-amdgpu-coerce-illegal-types=1'\n";
  EXPECT_EQ(diagnose("torch==2.5.1+rocm6.2\n" + build, amd).cause.id, "rocm-version-mismatch");
  EXPECT_NE(diagnose("torch==2.5.1+rocm5.7\n" + build, amd).cause.id, "rocm-version-mismatch");
}

TEST(ReportedCauses, a_limit_that_nothing_ran_into_is_no_fault) {
  const std::string_view measured =
      "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz ttm.pages_limit=25165824\n"
      "$ cat /sys/class/drm/card1/device/mem_info_gtt_total\n103079215104\n";
  constexpr std::string_view halo = R"({"gfx": "gfx1151", "ram": "128 GB"})";
  EXPECT_EQ(diagnose(measured, halo).cause.id, "none");
}

TEST(ReportedCauses, a_question_tells_of_no_release_that_works) {
  EXPECT_NE(diagnose("I get an error. Does pytorch only work with rocm 5.2?\n", amd).cause.id,
            "rocm-regression");
}

TEST(ReportedCauses, harmless_lines_do_not_clear_a_report_of_trouble) {
  const std::string noise =
      "[    1.519442] misc dxg: dxgk: dxgkio_query_adapter_info: Ioctl failed: -22\n";
  EXPECT_EQ(diagnose("The card is not found, and all versions fail in the same way.\n" + noise, amd)
                .cause.id,
            "insufficient-evidence");
}

TEST(ReportedCauses, a_release_chosen_by_its_folder_that_works_blames_the_installed_one) {
  const std::string crash =
      "$ rpm -q rocm-hip\nrocm-hip-7.1.1-3.fc44.x86_64\n$ ./build/bin/llama-server -m a.gguf\n"
      "Segmentation fault         (core dumped)\n";
  const std::string work =
      "| gemma4 12B Q4_K - Medium |   6.91 GiB |    11.91 B | ROCm       |  99 |           pp512 | "
      " "
      "      921.40 ± 3.11 |\n";
  const std::string other = "$ export LD_LIBRARY_PATH=/opt/rocm-6.3.1/lib\n";
  const auto found =
      diagnose(crash + other + "$ ./build63/bin/llama-bench -m a.gguf\n" + work, amd);
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_NE(found.cause.title.find("6.3.1"), std::string::npos);
  EXPECT_NE(diagnose(crash + "$ ./build63/bin/llama-bench -m a.gguf\n" + work, amd).cause.id,
            "rocm-regression");
}

TEST(ReportedCauses, a_revision_of_rocm_taken_back_that_mends_it_is_to_blame) {
  const std::string forth = "submodule rocm-systems: cd52904 -> f24905b\n";
  const std::string back = "submodule rocm-systems: f24905b -> cd52904\n";
  const std::string fails = "RuntimeError: HIP error: invalid argument\n";
  const std::string works = "tensor([[2., 2.], [2., 2.]], device='cuda:0')\n";
  const std::string before = "submodule rocm-systems: cd52904 -> cd52904 (unchanged)\n" + works;
  const auto found = diagnose(before + forth + fails + back + works, amd);
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_NE(found.cause.title.find("f24905b"), std::string::npos);
  EXPECT_NE(diagnose(before + forth + fails + back + fails, amd).cause.id, "rocm-regression");
}

TEST(ReportedCauses, headings_part_runs_by_their_release) {
  const auto got = diagnose(
      "# toolbox rocm-7.2.4\n$ llama-bench -m a.gguf\n"
      "Memory critical error by agent node-0 (Agent handle: 0x55d0) on address 0x7f2c3c000000. "
      "Reason: Memory in use.\nAborted (core dumped)\n"
      "# TheRock 7.13.0, same board\n$ ./llama-bench -m a.gguf\n"
      "| qwen2 1.5B Q4_K - Medium | 1.04 GiB | 1.54 B | ROCm | 99 | tg128 | 243.11 |\n",
      R"({"vendor": "AMD", "gfx": "gfx1151"})");
  EXPECT_EQ(got.cause.id, "rocm-regression");
}

}  // namespace
}  // namespace headroom::findings
