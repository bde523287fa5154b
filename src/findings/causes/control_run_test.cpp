// SPDX-License-Identifier: Apache-2.0
// Two runs that differ in one setting tell whether the setting is at fault.
#include "findings/causes/control_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "findings/causes/contradiction.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view stated =
    R"({"vendor": "AMD", "gfx": "gfx1201", "env": "HSA_OVERRIDE_GFX_VERSION=11.0.0"})";
constexpr std::string_view refused = "RuntimeError: HIP error: invalid device function\n";
constexpr std::string_view works = "tensor([[2., 2.], [2., 2.]], device='cuda:0')\n";

std::string run(std::string_view command, std::string_view outcome) {
  return std::string("$ ") + std::string(command) + "\n" + std::string(outcome);
}

TEST(ReadCommand, variables_flags_and_sudo_are_settings) {
  std::map<std::string, std::string, std::less<>> exported;
  const auto got = read_command(
      "(venv) ada@box:~$ sudo HIP_VISIBLE_DEVICES=1 python main.py --no-half --size=4 | tee log",
      exported);
  EXPECT_EQ(got.program, "python main.py");
  const std::map<std::string, std::string, std::less<>> expected = {
      {"sudo", ""}, {"HIP_VISIBLE_DEVICES", "1"}, {"--no-half", ""}, {"--size", "4"}};
  EXPECT_EQ(got.settings, expected);
}

TEST(ReadCommand, a_group_taken_for_one_command_is_a_setting) {
  std::map<std::string, std::string, std::less<>> exported;
  const auto got = read_command("$ sg render -c 'python main.py'", exported);
  EXPECT_EQ(got.program, "python main.py");
  EXPECT_TRUE(got.settings.contains("sg"));
}

constexpr std::string_view asks = "python3 -c \"import torch; print(torch.cuda.is_available())\"";

TEST(ControlRun, what_works_with_the_group_fails_for_want_of_it) {
  const std::string with = fmt::format("sg render -c '{}'", asks);
  const auto found = diagnose(run(asks, "False\n") + run(with, "True\n"));
  EXPECT_EQ(found.cause.id, "device-permission");
  EXPECT_GE(found.cause.confidence, 0.6);
}

TEST(ControlRun, a_group_that_changes_nothing_speaks_against_permission) {
  const std::string with = fmt::format("sg render -c '{}'", asks);
  EXPECT_NE(diagnose(run(asks, "False\n") + run(with, "False\n")).cause.id, "device-permission");
}

TEST(ReadCommand, of_a_shell_within_it_is_what_that_runs) {
  ShellSettings exported;
  const auto got = read_command(
      "~/app> bash -c 'export HSA_OVERRIDE_GFX_VERSION=10.3.0; python main.py' | tail -2",
      exported);
  EXPECT_EQ(got.program, "python main.py");
  EXPECT_TRUE(got.settings.contains("HSA_OVERRIDE_GFX_VERSION"));
  EXPECT_TRUE(exported.empty());
}

TEST(ReadCommand, of_several_commands_the_last_counts_and_quotes_hold_together) {
  ShellSettings exported;
  EXPECT_EQ(read_command("$ uname -r && python main.py", exported).program, "python main.py");
  EXPECT_EQ(read_command("$ python -c 'import torch; print(1)'", exported).program,
            "python 'import torch; print(1)'");
}

constexpr std::string_view crash = "Segmentation fault (core dumped)\n";

TEST(ControlRun, a_run_that_works_with_an_override_shows_that_code_for_the_card_is_missing) {
  const auto got = diagnose(
      run("./bench.sh", crash) + run("HSA_OVERRIDE_GFX_VERSION=10.3.0 ./bench.sh", "4096: 11 ms\n"),
      R"({"gfx": "gfx1032"})");
  EXPECT_EQ(got.cause.id, "gfx-target-missing");
}

TEST(ControlRun, shared_memory_is_at_fault_where_the_job_works_without_it) {
  const auto got = diagnose(run("HSA_XNACK=1 ./bench.sh", crash) + run("./bench.sh", "sum 1024\n"),
                            R"({"gfx": "gfx90a"})");
  EXPECT_EQ(got.cause.id, "managed-memory");
}

TEST(ControlRun, an_obstacle_that_a_later_run_got_past_is_not_the_cause) {
  constexpr std::string_view denied = "Unable to open /dev/kfd read-write: Permission denied\n";
  const std::string first = run("python a.py", denied);
  EXPECT_EQ(diagnose(first, R"({"gfx": "gfx1010"})").cause.id, "device-permission");
  const auto got = diagnose(
      first + run("sudo usermod -aG render ada", "") + run("python a.py --verbose", refused),
      R"({"gfx": "gfx1010"})");
  EXPECT_EQ(got.cause.id, "gfx-target-missing");
}

TEST(ControlRun, wrong_sums_that_end_without_peer_copies_are_theirs) {
  constexpr std::string_view test = "./build/all_reduce_perf -b 1M -e 64M -g 2";
  const auto got = diagnose(
      "With two cards the loss is nan under FSDP. No crash, no hang.\n" +
          run(test, "# Out of bounds values : 16 FAILED\n# Avg bus bandwidth    : 5.9930\n") +
          run("NCCL_P2P_DISABLE=1 " + std::string(test),
              "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 4.2218\n"),
      R"({"gfx": "gfx1100"})");
  EXPECT_EQ(got.cause.id, "rccl-p2p");
}

std::string on_kernel(std::string_view release, std::string_view outcome) {
  return "$ uname -r && python train.py\n" + std::string(release) + "\n" + std::string(outcome);
}

TEST(KernelRuns, a_newer_kernel_that_works_shows_that_the_older_one_lacks_a_fix) {
  const auto got =
      diagnose(on_kernel("6.12.12-amd64", crash) + on_kernel("6.12.22-amd64", "loss 0.31\n"),
               R"({"gfx": "gfx1030"})");
  EXPECT_EQ(got.cause.id, "kernel-too-old");
  EXPECT_THAT(got.cause.title, HasSubstr("6.12.22"));
}

TEST(KernelRuns, a_kernel_that_both_fails_and_works_is_not_at_fault) {
  const auto got =
      diagnose(on_kernel("6.12.12-amd64", crash) + on_kernel("6.11.9-amd64", "loss 0.31\n") +
                   on_kernel("6.12.12-amd64", "loss 0.30\n"),
               R"({"gfx": "gfx1030"})");
  EXPECT_NE(got.cause.id, "kernel-too-old");
}

TEST(ControlRun, a_newer_kernel_that_is_told_to_find_the_card) {
  const std::string log =
      "$ blender\nHIP hipInit: Invalid device\n"
      "With boot.kernelPackages = linuxPackages_latest the same shell finds the card.\n";
  EXPECT_EQ(diagnose(log, R"({"vendor": "AMD", "kernel": "6.1.78"})").cause.id, "kernel-too-old");
}

TEST(ReadCommand, an_export_holds_until_it_is_unset) {
  std::map<std::string, std::string, std::less<>> exported;
  EXPECT_EQ(read_command("$ export NCCL_DEBUG=INFO", exported).program, "");
  EXPECT_TRUE(read_command("$ python a.py", exported).settings.contains("NCCL_DEBUG"));
  read_command("$ unset NCCL_DEBUG", exported);
  EXPECT_TRUE(read_command("$ python a.py", exported).settings.empty());
}

TEST(ReadCommand, variables_given_to_a_container_are_settings) {
  std::map<std::string, std::string, std::less<>> exported;
  const auto got = read_command("# docker run -e HIP_VISIBLE_DEVICES=1 image", exported);
  EXPECT_EQ(got.program, "docker run image");
  EXPECT_TRUE(got.settings.contains("HIP_VISIBLE_DEVICES"));
}

TEST(ControlRun, the_same_failure_without_the_override_takes_the_blame_from_it) {
  const std::string with = run("HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py", refused);
  const auto suspected = diagnose(with, stated);
  ASSERT_EQ(suspected.cause.id, "gfx-override-wrong");
  const auto got = diagnose(with + run("python main.py", refused), stated);
  EXPECT_EQ(got.cause.id, "gfx-target-missing");
  EXPECT_LT(testing::confidence_of(got, "gfx-override-wrong"), 0.5);
}

TEST(ControlRun, the_override_is_at_fault_where_the_job_works_without_it) {
  const auto got = diagnose(
      run("HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py", refused) + run("python main.py", works),
      stated);
  EXPECT_EQ(got.cause.id, "gfx-override-wrong");
  EXPECT_THAT(got.cause.reasons, Contains(HasSubstr("works without HSA_OVERRIDE_GFX_VERSION")));
}

TEST(ControlRun, two_changes_at_once_tell_nothing) {
  const auto got = diagnose(run("HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py --cpu", refused) +
                                run("python main.py", refused),
                            stated);
  EXPECT_EQ(got.cause.id, "gfx-override-wrong");
  EXPECT_TRUE(got.cause.against.empty());
}

TEST(ControlRun, another_program_is_no_control) {
  const auto got = diagnose(run("HSA_OVERRIDE_GFX_VERSION=11.0.0 python main.py", refused) +
                                run("python other.py", refused),
                            stated);
  EXPECT_EQ(got.cause.id, "gfx-override-wrong");
  EXPECT_TRUE(got.cause.against.empty());
}

TEST(ControlRun, a_refusal_that_root_meets_too_is_no_question_of_groups) {
  constexpr std::string_view denied = "Unable to open /dev/kfd read-write: Permission denied\n";
  const auto alone = diagnose(run("python a.py", denied), R"({"vendor": "AMD"})");
  const auto both = diagnose(run("python a.py", denied) + run("sudo python a.py", denied),
                             R"({"vendor": "AMD"})");
  EXPECT_LT(testing::confidence_of(both, "device-permission"),
            testing::confidence_of(alone, "device-permission"));
}

TEST(ControlRun, a_list_of_trials_tells_like_the_runs_themselves) {
  const std::string log =
      "$ uname -r\n6.6.87.2-microsoft-standard-WSL2\n"
      "$ rocminfo\nROCk module is NOT loaded, possibly no GPU devices\n\n";
  const auto alone = diagnose(log, R"({"vendor": "AMD"})");
  const auto passed = diagnose(log + "HSA_ENABLE_DXG_DETECTION=1: works\n", R"({"vendor": "AMD"})");
  const auto same =
      diagnose(log + "HSA_ENABLE_DXG_DETECTION=1: same error\n", R"({"vendor": "AMD"})");
  EXPECT_EQ(alone.cause.id, "host-without-kfd");
  EXPECT_GT(passed.cause.confidence, alone.cause.confidence);
  EXPECT_LT(testing::confidence_of(same, "host-without-kfd"), alone.cause.confidence);
}

TEST(ReadCommand, what_only_runs_another_program_is_left_out) {
  std::map<std::string, std::string, std::less<>> exported;
  const auto got = read_command(
      "$ time timeout -s KILL 600 env PYTORCH_HIP_ALLOC_CONF=x:True python repro.py", exported);
  EXPECT_EQ(got.program, "python repro.py");
  EXPECT_TRUE(got.settings.contains("PYTORCH_HIP_ALLOC_CONF"));
  EXPECT_EQ(read_command("$ nohup nice -n 5 python a.py", exported).program, "python a.py");
}

TEST(ControlRun, a_variable_that_nobody_knows_is_at_fault_where_it_alone_differs) {
  const auto found = diagnose(run("ROCM_NEW_PATH=1 timeout 60 python a.py", "Killed\n") +
                              run("python a.py", "completed: cuda:0\n"));
  EXPECT_EQ(found.cause.id, "unsupported-option");
  const auto same = diagnose(run("ROCM_NEW_PATH=1 timeout 60 python a.py", "Killed\n") +
                             run("python a.py", "Killed\n"));
  EXPECT_NE(same.cause.id, "unsupported-option");
}

TEST(ControlRun, nonsense_that_one_card_alone_does_not_write_is_of_the_transfers) {
  const std::string cards =
      "ggml_cuda_init: found 2 ROCm devices:\n"
      "  Device 0: AMD Radeon RX 9060 XT, gfx1200 (0x1200), VMM: no, Wave Size: 32\n"
      "  Device 1: AMD Radeon RX 9060 XT, gfx1200 (0x1200), VMM: no, Wave Size: 32\n";
  const std::string one = run("HIP_VISIBLE_DEVICES=0 ./llama-cli -m a.gguf", "It is Paris.\n");
  const std::string both = run("./llama-cli -m a.gguf", "It is################\n");
  EXPECT_EQ(diagnose(cards + one + both, R"({"vendor": "AMD"})").cause.id, "rccl-p2p");
  const std::string fine = run("./llama-cli -m a.gguf", "It is Paris.\n");
  EXPECT_NE(diagnose(cards + one + fine, R"({"vendor": "AMD"})").cause.id, "rccl-p2p");
}

TEST(ControlRun, a_run_that_took_the_machine_with_it_is_told_of_by_the_log_read_next) {
  const std::string log =
      "kernel: amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=48213, emitted "
      "seq=48215\n";
  const std::string good = run("python bench.py", "3.1 TFLOPS\n");
  const std::string bad =
      run("TORCH_BLAS_PREFER_HIPBLASLT=1 python bench.py", "(after a reboot:)\n");
  const std::string read = run("journalctl -k -b -1", log);
  EXPECT_EQ(diagnose(good + bad + read).cause.id, "unsupported-option");
  EXPECT_EQ(diagnose(bad + read).cause.id, "gpu-hang");
}

TEST(ControlRun, the_line_that_works_is_the_way_out) {
  const auto got = diagnose(
      "$ ls /dev/dxg\n/dev/dxg\n$ rocminfo\nWSL environment detected.\n"
      "hsa_init Failed, possibly no supported GPU devices\n"
      "$ HSA_ENABLE_DXG_DETECTION=1 rocminfo\nAgent 2\n  Name:                    gfx1201\n",
      R"({"vendor": "AMD", "gfx": "gfx1201"})");
  ASSERT_EQ(got.cause.id, "host-without-kfd");
  ASSERT_FALSE(got.cause.fix.empty());
  EXPECT_THAT(got.cause.fix.front().text, HasSubstr("HSA_ENABLE_DXG_DETECTION=1 rocminfo"));
}

}  // namespace
}  // namespace headroom::findings
