// SPDX-License-Identifier: Apache-2.0
// A log together with the machine that wrote it: what was measured outweighs what the words
// suggest, and the shares of all answers never exceed the whole.
#include <gtest/gtest.h>

#include <random>

#include "findings/causes/contradiction.h"
#include "findings/causes/testing.h"
#include "findings/log_diagnosis.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

constexpr std::string_view small_request =
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total "
    "capacity of 19.98 GiB of which 40.00 MiB is free.\n";

Diagnosis machine_with(std::string_view id, double confidence) {
  Diagnosis machine;
  machine.verdict = Verdict::broken;
  Cause cause;
  cause.id = id;
  cause.title = "what was measured";
  cause.confidence = confidence;
  machine.cause = cause;
  return machine;
}

void expect_shares_of_a_whole(const LogDiagnosis& diagnosis) {
  double sum = diagnosis.cause.confidence;
  for (const Alternative& one : diagnosis.runners_up) {
    EXPECT_LE(one.confidence, diagnosis.cause.confidence + 1e-9) << one.id;
    sum += one.confidence;
  }
  EXPECT_LE(sum, 1 + 1e-9) << diagnosis.cause.id;
}

void expect_no_certainty_in_doubt(const LogDiagnosis& diagnosis) {
  if (diagnosis.cause.against.empty()) return;
  EXPECT_LE(diagnosis.cause.confidence, most_in_doubt) << diagnosis.cause.id;
}

facts::Facts machine_on(std::string kernel) {
  facts::Facts machine;
  machine.machine.kernel = {std::move(kernel), {"uname", 0, ""}};
  facts::Gpu gpu;
  gpu.gfx = {"gfx1151", {}};
  gpu.integrated = {true, {}};
  gpu.pool = {Bytes{std::uint64_t{120} << 30}, {}};
  machine.gpus.push_back(std::move(gpu));
  return machine;
}

constexpr std::string_view before_the_update =
    "$ uname -r\n6.14.0-29-generic\n"
    "ROCm: hipMalloc offers 15.88 GiB\n"
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 33162.11 MiB on device 0: cudaMalloc "
    "failed: out of memory\n";
constexpr std::string_view large_carve_out =
    R"({"vendor": "AMD", "gfx": "gfx1151", "vram": "96 GB", "rocm": "6.4.1"})";

TEST(MeasuredFacts, a_log_of_another_kernel_is_judged_by_that_one) {
  const facts::Facts updated = machine_on("7.0.0-29-generic");
  const auto alone = diagnose(before_the_update, large_carve_out);
  ASSERT_EQ(alone.cause.id, "kernel-too-old");
  const auto both = diagnose(before_the_update, large_carve_out, &updated);
  EXPECT_EQ(both.cause.id, "kernel-too-old");
  ASSERT_FALSE(both.cause.fix.empty());
  EXPECT_NE(both.cause.fix.front().text.find("7.0.0-29-generic now"), std::string::npos);
}

TEST(MeasuredFacts, a_log_that_names_the_machines_kernel_too_is_of_today) {
  const facts::Facts updated = machine_on("7.0.0-29-generic");
  const std::string log = std::string(before_the_update) + "$ uname -r\n7.0.0-29-generic\n";
  EXPECT_NE(diagnose(log, large_carve_out, &updated).cause.id, "kernel-too-old");
}

TEST(MeasuredFacts, firmware_that_the_machine_no_longer_has_dates_the_kernel_too) {
  constexpr std::string_view hang =
      "amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE\n"
      "amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!. Source:  3\n"
      "MES feature version: 1, firmware version: 0x00000080\n";
  constexpr std::string_view stated = R"({"vendor": "AMD", "gfx": "gfx1151"})";
  facts::Facts updated = machine_on("7.0.0-29-generic");
  EXPECT_EQ(diagnose(hang, stated, &updated).cause.id, "firmware-bad");
  updated.gpus.front().firmware.versions["mes"] = {std::uint64_t{0x80}, {}};
  EXPECT_NE(diagnose(hang, stated, &updated).cause.id, "firmware-bad");
}

TEST(MeasuredFacts, memory_that_others_hold_wins_over_a_job_that_is_said_to_be_too_big) {
  for (const std::string_view holder : {"vram-held-by-other", "vram-orphaned"}) {
    auto got = diagnose(small_request, R"({"vendor": "AMD"})");
    join_machine(machine_with(holder, 0.9), got);
    EXPECT_EQ(got.cause.id, holder);
    expect_shares_of_a_whole(got);
  }
}

TEST(MeasuredFacts, no_limit_refuses_a_request_for_which_there_is_room) {
  auto got = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 3.99 GiB. GPU 0 has a total "
      "capacity of 62.54 GiB of which 57.30 GiB is free. Of the allocated memory 120.00 MiB is "
      "allocated by PyTorch, and 8.00 MiB is reserved by PyTorch but unallocated.\n",
      R"({"vendor": "AMD", "gfx": "gfx1151"})");
  const std::string told = got.cause.id;
  join_machine(machine_with("ttm-cap", 0.95), got);
  EXPECT_EQ(got.cause.id, told);
  EXPECT_NE(got.cause.id, "ttm-cap");
}

TEST(MeasuredFacts, steps_are_for_the_gpu_that_the_log_names) {
  Diagnosis machine = machine_with("vram-held-by-other", 0.9);
  for (const char* pci : {"0000:03:00.0", "0000:06:00.0"}) {
    Finding finding;
    finding.id = "vram-held-by-other";
    finding.gpu = pci;
    finding.fix = {sentence(std::string("End what holds ") + pci)};
    machine.findings.push_back(finding);
    machine.cause->gpus.emplace_back(pci);
    machine.cause->fix.push_back(finding.fix.front());
  }
  const auto steps_of = [&](std::string_view log, const std::string& pci) {
    auto got = diagnose(log, R"({"vendor": "AMD"})");
    join_machine(machine, got, pci);
    EXPECT_EQ(got.cause.id, "vram-held-by-other");
    return got;
  };
  const auto one = steps_of(small_request, "0000:06:00.0");
  EXPECT_EQ(one.gpu, 0U);
  EXPECT_EQ(one.cause.fix, std::vector<Step>{machine.findings[1].fix.front()});
  EXPECT_EQ(steps_of(small_request, "").cause.fix.size(), 2U);
  const std::string masked = "HIP_VISIBLE_DEVICES=1\n" + std::string(small_request);
  EXPECT_EQ(steps_of(masked, "").gpu, std::nullopt);
}

TEST(MeasuredFacts, what_else_needs_the_same_reboot_is_among_the_steps) {
  Diagnosis machine = machine_with("ttm-cap", 0.9);
  machine.cause->fix = {sentence("Raise the limit."), reboot()};
  Finding kernel;
  kernel.id = "known-bad-kernel";
  kernel.joins_steps = true;
  kernel.fix = {sentence("Install the kernel.")};
  machine.findings.push_back(kernel);
  auto got = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 3.99 GiB. GPU 0 has a total "
      "capacity of 62.54 GiB of which 1.20 GiB is free.\n",
      R"({"vendor": "AMD", "gfx": "gfx1151", "ram": "125 GiB"})");
  join_machine(machine, got);
  ASSERT_EQ(got.cause.id, "ttm-cap");
  const std::vector<Step> wanted = {sentence("Raise the limit."), sentence("Install the kernel."),
                                    reboot()};
  EXPECT_EQ(got.cause.fix, wanted);
}

TEST(MeasuredFacts, a_fault_that_brings_about_something_else_does_not_take_the_place) {
  auto got = diagnose("RuntimeError: HIP error: invalid device function\n",
                      R"({"vendor": "AMD", "gfx": "gfx1031"})");
  const std::string told = got.cause.id;
  join_machine(machine_with("ttm-cap", 0.9), got);
  EXPECT_EQ(got.cause.id, told);
  expect_shares_of_a_whole(got);
}

TEST(MeasuredFacts, a_limit_of_the_gpus_does_not_make_the_machines_ram_run_out) {
  constexpr std::string_view killed =
      "Out of memory: Killed process 2211 (python3) total-vm:140000000kB, anon-rss:120345678kB, "
      "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:240000kB oom_score_adj:0\n";
  for (const std::string_view limit : {"ttm-cap", "gttsize-cap", "gpu-unsupported"}) {
    auto got = diagnose(killed, R"({"vendor": "AMD"})");
    ASSERT_TRUE(got.is_of_host);
    join_machine(machine_with(limit, 0.95), got);
    EXPECT_EQ(got.cause.id, "job-too-big") << limit;
    expect_shares_of_a_whole(got);
  }
  // A limit that promises more RAM than there is does.
  auto got = diagnose(killed, R"({"vendor": "AMD"})");
  join_machine(machine_with("limit-above-ram", 0.95), got);
  EXPECT_FALSE(got.runners_up.empty() && got.cause.id == "job-too-big");
}

TEST(MeasuredFacts, a_gpu_that_nothing_supports_is_why_its_code_is_missing) {
  auto got = diagnose(
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: "
      "Illegal seek for GPU arch : gfx90c\n",
      R"({"vendor": "AMD"})");
  join_machine(machine_with("gpu-unsupported", 0.97), got);
  EXPECT_EQ(got.cause.id, "gpu-unsupported");
  expect_shares_of_a_whole(got);
}

TEST(MeasuredFacts, a_gpu_that_nothing_supports_is_why_its_worker_dies_again_and_again) {
  const std::string once =
      "INFO     Booting worker with pid: 9\n"
      "INFO     Setting execution providers to ['ROCMExecutionProvider', 'CPUExecutionProvider']\n"
      "ERROR    Worker (pid:9) was sent code 134!\n";
  for (const std::string& log : {once, once + once, once + once + once + once}) {
    auto got = diagnose(log, R"({"vendor": "AMD"})");
    ASSERT_EQ(got.cause.id, "crash-loop");
    join_machine(machine_with("gpu-unsupported", 0.97), got);
    EXPECT_EQ(got.cause.id, "gpu-unsupported");
    expect_shares_of_a_whole(got);
    // What says nothing of the GPU's code is no reason for it.
    auto held = diagnose(log, R"({"vendor": "AMD"})");
    join_machine(machine_with("ttm-cap", 0.97), held);
    EXPECT_EQ(held.cause.id, "crash-loop");
  }
}

TEST(MeasuredFacts, a_machine_that_is_hardly_sure_leaves_the_log_its_answer) {
  auto got = diagnose(small_request, R"({"vendor": "AMD"})");
  const std::string told = got.cause.id;
  join_machine(machine_with("ttm-cap", 0.2), got);
  EXPECT_EQ(got.cause.id, told);
  expect_shares_of_a_whole(got);
}

TEST(MeasuredFacts, a_log_without_a_failure_stays_healthy) {
  auto got = diagnose("{'loss': 1.2, 'epoch': 1.0}\ntraining finished\n", R"({"vendor": "AMD"})");
  ASSERT_EQ(got.cause.id, "none");
  join_machine(machine_with("vram-held-by-other", 0.9), got);
  EXPECT_EQ(got.cause.id, "none");
  expect_shares_of_a_whole(got);
}

TEST(MeasuredFacts, a_line_that_speaks_against_the_answer_stays_when_the_machine_agrees) {
  auto got = diagnose(
      "tensor([[2., 2.], [2., 2.]], device='cuda:0')\n"
      "RuntimeError: HIP error: invalid device function\n",
      R"({"vendor": "AMD", "gfx": "gfx1031"})");
  ASSERT_FALSE(got.cause.against.empty()) << got.cause.id;
  join_machine(machine_with(got.cause.id, 0.99), got);
  EXPECT_LE(got.cause.confidence, most_in_doubt);
  expect_shares_of_a_whole(got);
}

TEST(MeasuredFacts, a_wrong_name_in_a_script_is_not_blamed_on_held_memory) {
  auto got = diagnose(
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 3, in <module>\n"
      "    print(modle)\n"
      "NameError: name 'modle' is not defined\n",
      R"({"vendor": "AMD", "gfx": "gfx1100"})");
  ASSERT_EQ(got.cause.id, "app-bug");
  join_machine(machine_with("vram-held-by-other", 0.95), got);
  EXPECT_EQ(got.cause.id, "app-bug");
  expect_shares_of_a_whole(got);
}

TEST(MeasuredFacts, where_both_agree_the_others_make_room) {
  auto got = diagnose(small_request, R"({"vendor": "AMD"})");
  join_machine(machine_with(got.cause.id, 0.9), got);
  EXPECT_GT(got.cause.confidence, 0.45);
  expect_shares_of_a_whole(got);
}

TEST(Shares, they_are_parts_of_a_whole_for_any_mix_of_lines_and_machines) {
  const std::vector<std::string> lines = {
      std::string(small_request),
      "RuntimeError: HIP error: invalid device function\n",
      "Unable to open /dev/kfd read-write: Permission denied\n",
      "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=2\n",
      "Memory access fault by GPU node-1 on address 0x7f00. Reason: Page not present\n",
      "ImportError: libamdhip64.so.5: cannot open shared object file: No such file or directory\n",
      "RuntimeError: No HIP GPUs are available\n",
      "Segmentation fault (core dumped)\n",
      "kfd kfd: amdgpu: added device 1002:744c\n",
      "tensor([[2., 2.], [2., 2.]], device='cuda:0')\n",
      "{'loss': 1.2, 'epoch': 1.0}\n"};
  const std::vector<std::string_view> causes = {"vram-held-by-other", "ttm-cap",
                                                "device-permission", "driver-not-loaded",
                                                "gfx-target-missing"};
  std::mt19937 random(17);
  for (int round = 0; round < 200; ++round) {
    std::string log;
    for (std::uint32_t i = 0; i < 1 + random() % 5; ++i) log += lines[random() % lines.size()];
    auto got = diagnose(log, R"({"vendor": "AMD", "gfx": "gfx1100"})");
    expect_shares_of_a_whole(got);
    const double sure = static_cast<double>(random() % 100) / 100;
    const bool agrees = random() % 3 == 0;
    const std::string found(agrees ? got.cause.id : causes[random() % causes.size()]);
    expect_no_certainty_in_doubt(got);
    join_machine(machine_with(found, sure), got);
    expect_shares_of_a_whole(got);
    expect_no_certainty_in_doubt(got);
    if (HasFailure()) FAIL() << log;
  }
}

}  // namespace
}  // namespace headroom::findings
