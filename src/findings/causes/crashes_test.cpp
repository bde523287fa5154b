// SPDX-License-Identifier: Apache-2.0
// The causes behind crashes, hangs, hardware errors and jobs of several GPUs, from a log's text to
// the answer. Each has a near miss: lines that look alike and have another cause.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view old_ring =
    "[  812.101] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout, signaled seq=91, "
    "emitted seq=93\n"
    "[  812.102] amdgpu 0000:0b:00.0: amdgpu: GPU reset begin!\n";
constexpr std::string_view new_ring =
    "kernel: amdgpu 0000:03:00.0: amdgpu: ring comp_1.0.1 timeout, signaled seq=4, emitted seq=6\n"
    "kernel: amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!\n";
constexpr std::string_view mes =
    "[ 55.1] amdgpu 0000:c4:00.0: amdgpu: MES failed to respond to msg=SUSPEND\n"
    "[ 55.2] amdgpu 0000:c4:00.0: amdgpu: GPU reset begin!. Source:  3\n";
constexpr std::string_view fault =
    "Memory access fault by GPU node-1 (Agent handle: 0x55d0) on address 0x7f00. Reason: Page not "
    "present or supervisor privilege.\n";

// gpu-hang

TEST(Crashes, a_ring_that_timed_out_is_a_hang_in_old_and_new_words) {
  for (const std::string_view log : {old_ring, new_ring}) {
    const LogDiagnosis diagnosis = diagnose(log);
    EXPECT_EQ(diagnosis.cause.id, "gpu-hang") << log;
    EXPECT_GE(diagnosis.cause.confidence, 0.6);
    EXPECT_LT(diagnosis.cause.confidence, 0.8) << "no cause of the hang is seen";
  }
  EXPECT_THAT(diagnose(old_ring).cause.title, ::testing::HasSubstr("sdma0"));
}

TEST(Crashes, the_scheduler_of_old_and_new_drivers_hangs) {
  EXPECT_EQ(diagnose("amdgpu: qcm fence wait loop timeout expired\n").cause.id, "gpu-hang");
  EXPECT_EQ(diagnose("[drm:mes_v11_0_submit_pkt [amdgpu]] *ERROR* MES failed to response msg=3\n")
                .cause.id,
            "gpu-hang");
  EXPECT_EQ(diagnose("HW Exception by GPU node-2 (Agent handle: 0x5c) reason :GPU Hang\n").cause.id,
            "gpu-hang");
}

TEST(Crashes, a_memory_access_fault_alone_has_too_many_causes_to_be_sure) {
  const LogDiagnosis diagnosis = diagnose(fault, R"({"gfx": "gfx1100"})");
  EXPECT_EQ(diagnosis.cause.id, "gpu-hang");
  EXPECT_LE(diagnosis.cause.confidence, 0.5);
  EXPECT_GE(diagnosis.runners_up.size(), 3U);
}

TEST(Crashes, an_override_of_foreign_code_weakens_the_hang) {
  const std::string_view stated = R"({"gfx": "gfx1103", "env": "HSA_OVERRIDE_GFX_VERSION=11.0.0"})";
  EXPECT_LT(confidence_of(diagnose(old_ring, stated), "gpu-hang"),
            confidence_of(diagnose(old_ring), "gpu-hang"));
}

// firmware-bad

TEST(Crashes, known_bad_firmware_explains_the_hang) {
  const LogDiagnosis diagnosis =
      diagnose(std::string(mes) + "MES feature version: 1, firmware version: 0x00000083\n",
               R"({"gfx": "gfx1151"})");
  EXPECT_EQ(diagnosis.cause.id, "firmware-bad");
  EXPECT_GE(diagnosis.cause.confidence, 0.85);
  ASSERT_EQ(diagnosis.consequences.size(), 1U);
  EXPECT_EQ(diagnosis.consequences.front().id, "gpu-hang");
}

TEST(Crashes, the_bad_package_of_firmware_is_as_good_as_its_version) {
  const LogDiagnosis diagnosis =
      diagnose(std::string("upgraded linux-firmware-20251125-1\n") + std::string(fault),
               R"({"gpu": "Radeon 8060S"})");
  EXPECT_EQ(diagnosis.cause.id, "firmware-bad");
}

TEST(Crashes, the_same_firmware_on_a_kernel_with_the_change_is_not_to_blame) {
  const std::string log =
      std::string(mes) + "MES feature version: 1, firmware version: 0x00000080\n";
  EXPECT_EQ(diagnose(log, R"({"gfx": "gfx1151"})").cause.id, "firmware-bad");
  EXPECT_EQ(diagnose(log, R"({"gfx": "gfx1151", "kernel": "6.18.9"})").cause.id, "gpu-hang");
  EXPECT_EQ(diagnose(log, R"({"gfx": "gfx1151", "cmdline": "ro amdgpu.cwsr_enable=0"})").cause.id,
            "gpu-hang");
}

TEST(Crashes, firmware_of_a_chip_without_a_bad_version_is_not_guessed) {
  EXPECT_EQ(diagnose(mes, R"({"gfx": "gfx1100"})").cause.id, "gpu-hang");
  const LogDiagnosis usual = diagnose(mes, R"({"gfx": "gfx1151"})");
  EXPECT_EQ(usual.cause.id, "firmware-bad");
  EXPECT_LT(usual.cause.confidence, 0.7) << "its version is not in the log";
}

TEST(Crashes, a_bad_version_without_a_failure_is_no_cause) {
  EXPECT_EQ(
      diagnose("MES feature version: 1, firmware version: 0x00000083\n", R"({"gfx": "gfx1151"})")
          .cause.id,
      "insufficient-evidence");
}

TEST(Crashes, a_missing_firmware_file_counts_where_the_driver_gave_up) {
  const std::string missing =
      "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error "
      "-2\n";
  EXPECT_EQ(diagnose(missing).cause.id, "insufficient-evidence") << "many files are optional";
  EXPECT_EQ(
      diagnose(missing + "amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init\n").cause.id,
      "firmware-bad");
}

// hw-error

TEST(Crashes, what_the_hardware_reports_explains_the_reset) {
  for (const std::string_view line :
       {"amdgpu 0000:83:00.0: amdgpu: 3 uncorrectable hardware errors detected in umc block\n",
        "amdgpu 0000:83:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
        "detected!\n",
        "HW Exception by GPU node-4 (Agent handle: 0x55) reason :ECC\n",
        "pcieport 0000:00:01.1: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction "
        "Layer\n"}) {
    const LogDiagnosis diagnosis = diagnose(std::string(line) + std::string(old_ring));
    EXPECT_EQ(diagnosis.cause.id, "hw-error") << line;
    EXPECT_GE(diagnosis.cause.confidence, 0.8) << line;
  }
}

TEST(Crashes, corrected_errors_and_counters_of_zero_are_no_hardware_error) {
  for (const std::string_view line :
       {"amdgpu: 0 uncorrectable hardware errors detected in total in umc block\n",
        "amdgpu 0000:83:00.0: amdgpu: SRAM ECC is active.\n",
        "pcieport 0000:00:01.1: PCIe Bus Error: severity=Corrected, type=Physical Layer\n"}) {
    EXPECT_EQ(diagnose(std::string(line) + std::string(old_ring)).cause.id, "gpu-hang") << line;
  }
}

// crash-loop

TEST(Crashes, a_worker_that_dies_and_is_started_again_is_a_loop) {
  const std::string_view gunicorn =
      "ml | [01/02/25 10:00:00] ERROR    Worker (pid:11) was sent SIGSEGV!\n"
      "ml | [01/02/25 10:00:01] INFO     Booting worker with pid: 31\n"
      "ml | [01/02/25 10:00:04] ERROR    Worker (pid:31) was sent SIGSEGV!\n"
      "ml | [01/02/25 10:00:05] INFO     Booting worker with pid: 52\n";
  const std::string_view systemd =
      "tagger.service: Main process exited, code=dumped, status=6/ABRT\n"
      "tagger.service: Scheduled restart job, restart counter is at 7.\n";
  for (const std::string_view log : {gunicorn, systemd}) {
    const LogDiagnosis diagnosis = diagnose(log, R"({"vendor": "AMD"})");
    EXPECT_EQ(diagnosis.cause.id, "crash-loop") << log;
    EXPECT_LT(diagnosis.cause.confidence, 0.8);
  }
}

TEST(Crashes, a_loop_that_may_be_selinux_names_the_command_that_tells) {
  const LogDiagnosis diagnosis = diagnose(
      "Memory critical error by agent node-0 (Agent handle: 0x7f) on address 0x7e. Reason: "
      "Memory in use.\nERROR    Worker (pid:6) was sent code 134!\n"
      "INFO     Booting worker with pid: 8\nERROR    Worker (pid:8) was sent code 134!\n",
      R"({"vendor": "AMD", "container": "podman"})");
  EXPECT_EQ(diagnosis.cause.id, "crash-loop");
  EXPECT_LE(diagnosis.cause.confidence, 0.5);
  ASSERT_FALSE(diagnosis.runners_up.empty());
  EXPECT_EQ(diagnosis.runners_up.front().id, "device-permission");
  EXPECT_THAT(diagnosis.runners_up.front().would_tell, ::testing::HasSubstr("ausearch"));
}

TEST(Crashes, one_death_without_a_restart_is_no_loop) {
  EXPECT_EQ(diagnose("rank 3 failed: process ended with exit code -6\n").cause.id,
            "insufficient-evidence");
}

TEST(Crashes, a_hang_that_kills_the_worker_comes_before_the_loop) {
  EXPECT_EQ(diagnose("HW Exception by GPU node-1 (Agent handle: 0x7f) reason :GPU Hang\n"
                     "ERROR    Worker (pid:10) was sent code 134!\n"
                     "INFO     Booting worker with pid: 52\n")
                .cause.id,
            "gpu-hang");
}

TEST(Crashes, an_instruction_that_the_processor_lacks_is_not_about_the_gpu) {
  const LogDiagnosis diagnosis = diagnose(
      "ERROR    Worker (pid:11) was sent code 132!\nINFO     Booting worker with pid: 15\n"
      "ERROR    Worker (pid:15) was sent code 132!\n$ grep -c avx /proc/cpuinfo\n0\n");
  EXPECT_EQ(diagnosis.cause.id, "not-amd-gpu");
  EXPECT_LT(confidence_of(diagnose("Illegal instruction (core dumped)\n"
                                   "$ grep -c avx /proc/cpuinfo\n16\n"),
                          "not-amd-gpu"),
            0.8)
      << "this processor has AVX";
}

TEST(Crashes, a_kill_by_the_kernel_is_no_loop_of_a_library) {
  EXPECT_NE(diagnose("ERROR    Worker (pid:11) was sent code 137!\n"
                     "INFO     Booting worker with pid: 15\n")
                .cause.id,
            "crash-loop");
}

// rccl-p2p and collective-hang

constexpr std::string_view set_up =
    "n1:10:10 [0] NCCL INFO RCCL version 2.20.5+hip6.2\n"
    "n1:10:12 [1] NCCL INFO Channel 01/0 : 1[1] -> 0[0] via P2P/IPC comm 0x56 nRanks 02\n"
    "n1:10:12 [1] NCCL INFO comm 0x56 rank 1 nranks 2 cudaDev 1 busId 3000 - Init COMPLETE\n";
constexpr std::string_view iommu_warning =
    "n1:10:10 [0] NCCL WARN Missing \"iommu=pt\" from kernel command line which can lead to system "
    "instablity or hang!\n";
constexpr std::string_view timeout =
    "[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for "
    "600021 milliseconds before timing out.\n";

TEST(Crashes, a_hang_under_an_iommu_that_translates_is_peer_to_peer) {
  const std::string log = std::string(iommu_warning) + std::string(set_up);
  const LogDiagnosis known = diagnose(log, R"({"cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1"})");
  EXPECT_EQ(known.cause.id, "rccl-p2p");
  EXPECT_GE(known.cause.confidence, 0.85);
  EXPECT_EQ(diagnose(log + std::string(timeout)).cause.id, "rccl-p2p");
}

TEST(Crashes, a_refused_address_or_peer_is_peer_to_peer) {
  EXPECT_EQ(diagnose(std::string(set_up) +
                     "amdgpu 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1e "
                     "address=0x80 flags=0x20]\n")
                .cause.id,
            "rccl-p2p");
  EXPECT_EQ(diagnose("RuntimeError: HIP error: hipErrorPeerAccessUnsupported\n").cause.id,
            "rccl-p2p");
}

TEST(Crashes, the_warning_about_the_iommu_alone_hurts_nobody) {
  const std::string log = std::string(iommu_warning) + std::string(set_up) +
                          "        8    2    float   sum   -1   13.10    0.00   0.00   0\n";
  EXPECT_NE(diagnose(log).cause.id, "rccl-p2p");
  EXPECT_EQ(diagnose(log).cause.id, "none");
}

TEST(Crashes, a_collective_that_times_out_is_its_own_cause_where_nothing_points_to_peers) {
  const LogDiagnosis diagnosis = diagnose(timeout);
  EXPECT_EQ(diagnosis.cause.id, "collective-hang");
  EXPECT_THAT(diagnosis.cause.title, ::testing::HasSubstr("ALLREDUCE did not end within 600 s"));
  EXPECT_LT(diagnosis.cause.confidence, 0.8);
  EXPECT_EQ(diagnose(std::string(set_up) + std::string(timeout),
                     R"({"cmdline": "BOOT_IMAGE=/vmlinuz iommu=pt"})")
                .cause.id,
            "collective-hang");
}

TEST(Crashes, a_stack_inside_data_parallel_is_a_collective_hang) {
  EXPECT_EQ(diagnose("$ py-spy dump --pid 77\nThread 77 (active): \"MainThread\"\n"
                     "    broadcast_coalesced (torch/nn/parallel/comm.py:58)\n"
                     "    replicate (torch/nn/parallel/replicate.py:110)\n")
                .cause.id,
            "collective-hang");
  EXPECT_EQ(
      diagnose("  File \"/v/site-packages/torch/nn/parallel/parallel_apply.py\", line 101, in "
               "parallel_apply\n    thread.join()\nKeyboardInterrupt\n")
          .cause.id,
      "collective-hang");
}

TEST(Crashes, ranks_that_wait_for_a_dead_one_are_not_the_cause) {
  const LogDiagnosis diagnosis =
      diagnose("[rank0]: NameError: name 'lr' is not defined\n" + std::string(timeout));
  EXPECT_NE(diagnosis.cause.id, "collective-hang");
  EXPECT_LE(confidence_of(diagnosis, "collective-hang"), 0.4);
}

// rocm-regression

TEST(Crashes, a_release_known_to_break_a_target_explains_its_hang) {
  const LogDiagnosis diagnosis =
      diagnose(old_ring, R"({"gfx": "gfx900", "framework": "torch 2.3.1+rocm6.0"})");
  EXPECT_EQ(diagnosis.cause.id, "rocm-regression");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
  const LogDiagnosis unstable =
      diagnose(fault, R"({"gpu": "RX 9070 XT", "framework": "torch 2.9.1+rocm7.1"})");
  EXPECT_EQ(unstable.cause.id, "rocm-regression");
  EXPECT_LT(unstable.cause.confidence, 0.8);
}

TEST(Crashes, another_release_or_another_target_is_not_that_regression) {
  EXPECT_EQ(diagnose(old_ring, R"({"gfx": "gfx900", "framework": "torch 2.6+rocm6.1"})").cause.id,
            "gpu-hang");
  EXPECT_EQ(diagnose(old_ring, R"({"gfx": "gfx1030", "framework": "torch 2.3+rocm6.0"})").cause.id,
            "gpu-hang");
  EXPECT_NE(diagnose("hello\n", R"({"gfx": "gfx900", "rocm": "6.0"})").cause.id, "rocm-regression");
}

TEST(Crashes, what_the_reporter_says_of_another_release_counts) {
  EXPECT_EQ(diagnose(std::string(fault) + "# same script works fine with ROCm 6.2.4\n",
                     R"({"rocm": "6.4"})")
                .cause.id,
            "rocm-regression");
  EXPECT_NE(diagnose(std::string(fault) + "# matmul works with ROCm 6.4\n", R"({"rocm": "6.4"})")
                .cause.id,
            "rocm-regression");
}

// framework-bug

TEST(Crashes, an_assertion_of_the_framework_is_its_own_fault) {
  for (const std::string_view log :
       {"RuntimeError: t == DeviceType::HIP INTERNAL ASSERT FAILED at \"../c10/hip/Impl.h\":60, "
        "please report a bug to PyTorch.\n",
        "RuntimeError: PassManager::run failed\n", "ggml.c:42: GGML_ASSERT(ne00 == n) failed\n"}) {
    EXPECT_EQ(diagnose(log, R"({"vendor": "AMD"})").cause.id, "framework-bug") << log;
  }
}

TEST(Crashes, a_python_error_belongs_to_whose_code_raised_it) {
  const std::string user = "  File \"train.py\", line 7, in <module>\n";
  const std::string framework =
      "  File \"/v/lib/python3.12/site-packages/vllm/worker/worker.py\", line 70, in load\n";
  const std::string error = "AttributeError: 'NoneType' object has no attribute 'shape'\n";
  EXPECT_EQ(diagnose(user + framework + error).cause.id, "framework-bug");
  EXPECT_EQ(diagnose(framework + user + error).cause.id, "app-bug");
}

TEST(Crashes, a_crash_inside_a_library_is_a_loop_only_where_it_is_started_again) {
  const std::string crash =
      "corrupted size vs. prev_size\nFatal Python error: Aborted\n"
      "python[7]: segfault at 0 ip 00 sp 00 error 4 in libmigraphx_gpu.so.2[7f00+10]\n";
  EXPECT_EQ(diagnose(crash, R"({"vendor": "AMD"})").cause.id, "framework-bug");
  EXPECT_EQ(diagnose(crash + "WARNING  Worker (pid:23) was sent SIGABRT!\n" +
                         "INFO     Booting worker with pid: 29\n" + crash +
                         "WARNING  Worker (pid:29) was sent SIGABRT!\n",
                     R"({"vendor": "AMD"})")
                .cause.id,
            "crash-loop");
}

TEST(Crashes, a_kernel_that_checks_its_input_is_no_hang) {
  const LogDiagnosis diagnosis = diagnose(
      "Device-side assertion `t >= 0 && t < n_classes' failed.\n"
      "Queue aborting with error : HSA_STATUS_ERROR_EXCEPTION: code: 0x1016\n",
      R"({"vendor": "AMD"})");
  EXPECT_NE(diagnosis.cause.id, "gpu-hang");
  EXPECT_LE(confidence_of(diagnosis, "gpu-hang"), 0.2);
}

TEST(Crashes, a_bug_is_not_blamed_where_the_hardware_failed) {
  EXPECT_EQ(diagnose("amdgpu: 1 uncorrectable hardware errors detected in gfx block\n"
                     "RuntimeError: x INTERNAL ASSERT FAILED at \"a.cpp\":1\n")
                .cause.id,
            "hw-error");
}

// backend-unavailable

TEST(Crashes, a_back_end_that_the_build_lacks_is_named) {
  const LogDiagnosis provider = diagnose(
      "UserWarning: Specified provider 'ROCMExecutionProvider' is not in available provider names."
      "Available providers: 'CPUExecutionProvider'\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(provider.cause.id, "backend-unavailable");
  EXPECT_THAT(provider.cause.title, ::testing::HasSubstr("ROCMExecutionProvider"));
  EXPECT_EQ(diagnose("RuntimeError: Distributed package doesn't have NCCL built in\n",
                     R"({"vendor": "none"})")
                .cause.id,
            "backend-unavailable");
  EXPECT_EQ(diagnose("ValueError: Invalid backend: 'hccl'\n", R"({"vendor": "AMD"})").cause.id,
            "backend-unavailable");
}

TEST(Crashes, a_foreign_vendors_own_back_end_is_not_our_matter) {
  EXPECT_EQ(diagnose("RuntimeError: Distributed package doesn't have NCCL built in\n",
                     R"({"vendor": "NVIDIA"})")
                .cause.id,
            "not-amd-gpu");
  EXPECT_NE(diagnose("UserWarning: 1Torch was not compiled with flash attention.\n").cause.id,
            "backend-unavailable");
}

}  // namespace
}  // namespace headroom::findings
