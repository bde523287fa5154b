// SPDX-License-Identifier: Apache-2.0
// The causes about limits on memory: an APU's share of the RAM, control groups, workspaces, and
// memory that CPU and GPU share.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

// ------------------------------------------------------------------ unified memory

constexpr const char* strix_halo = R"({"gfx":"gfx1151","ram":"128 GB","vram":"512 MiB"})";

TEST(TtmCap, half_of_the_ram_is_the_kernels_default) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total "
      "capacity of 62.40 GiB of which 700.00 MiB is free. Of the allocated memory 61.00 GiB is "
      "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n",
      strix_halo);
  EXPECT_EQ(diagnosis.cause.id, "ttm-cap");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
  EXPECT_THAT(texts_of(diagnosis.cause.fix),
              ::testing::Contains(::testing::HasSubstr("pages_limit")));
}

TEST(TtmCap, rocminfos_pools_show_it_and_gttsize_does_not_help) {
  const auto diagnosis = diagnose(
      "Agent 1\n  Device Type:             CPU\n"
      "      Size:                    32768000(0x1f40000) KB\n"
      "Agent 2\n  Name:                    gfx1103\n  Device Type:             GPU\n"
      "      Size:                    16384000(0xfa0000) KB\n"
      "BOOT_IMAGE=/vmlinuz amdgpu.gttsize=28672\n");
  EXPECT_EQ(diagnosis.cause.id, "ttm-cap");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
}

TEST(TtmCap, sizes_in_a_scripts_own_words_show_it) {
  const auto diagnosis = diagnose(
      "kernel command line: amdgpu.gttsize=98304\n"
      "host RAM:         93.70 GiB\nsysfs VRAM total:  0.50 GiB\nsysfs GTT total:  96.00 GiB\n"
      "props.total_memory: 46.85 GiB\n",
      R"({"gfx":"gfx1151"})");
  EXPECT_EQ(diagnosis.cause.id, "ttm-cap");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
}

TEST(TtmCap, a_pages_limit_that_the_kernel_did_not_take_leaves_the_default) {
  const auto diagnosis = diagnose(
      "[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro "
      "amdttm.pages_limit=24576000\n"
      "[    3.11] amdgpu 0000:c5:00.0: amdgpu: VRAM: 512M 0x0000008000000000 - 0x000000801FFFFFFF "
      "(512M used)\n"
      "[    3.12] [drm] amdgpu: 512M of VRAM memory ready\n"
      "[    3.13] [drm] amdgpu: 47984M of GTT memory ready.\n");
  EXPECT_EQ(diagnosis.cause.id, "ttm-cap");
}

TEST(GttsizeCap, a_pool_told_in_words_is_the_limit_that_was_set) {
  const auto diagnosis = diagnose(
      "amdgpu.gttsize=65536 ttm.pages_limit=12582912\n"
      "rocminfo shows a pool of 48 GiB, and loading ends in\nROCm error: out of memory\n",
      R"({"gfx":"gfx1151","ram":"96 GB"})");
  EXPECT_THAT((std::vector<std::string>{"gttsize-cap", "ttm-cap"}),
              ::testing::Contains(diagnosis.cause.id));
}

TEST(FreeMemoryMisreported, a_programs_own_check_that_asks_something_else_than_the_gpu) {
  const std::string check =
      "load_model failed: This model needs about 22 GB but only about 19 GB of memory is "
      "available.\n";
  EXPECT_EQ(diagnose(check + ">>> print(torch.cuda.mem_get_info())\n(109951162777, 115964116992)\n",
                     strix_halo)
                .cause.id,
            "free-memory-misreported");
  EXPECT_NE(diagnose(check + ">>> print(torch.cuda.mem_get_info())\n(19951162777, 115964116992)\n",
                     strix_halo)
                .cause.id,
            "free-memory-misreported");
}

TEST(UmaCarveout, a_full_carve_out_beside_idle_gtt_is_all_that_the_program_gets) {
  const auto diagnosis = diagnose(
      "CUDA error 2 at ggml-cuda.cu:8957: out of memory\n"
      "mem_info_vram_total:536870912\nmem_info_vram_used:509300736\n"
      "mem_info_gtt_total:16454373376\nmem_info_gtt_used:81690624\n",
      R"({"gfx":"gfx1035","ram":"32 GB"})");
  EXPECT_EQ(diagnosis.cause.id, "uma-carveout-small");
}

TEST(RocmRegression, one_build_that_finds_half_of_the_memory) {
  const std::string_view log =
      "stable build:\nggml_cuda_init: found 1 ROCm devices (Total VRAM: 98304 MiB):\n"
      "  Device 0: Radeon 8060S Graphics, gfx1151 (0x1151), VMM: no, Wave Size: 32, VRAM: 98304 "
      "MiB\n"
      "latest nightly, same boot:\nggml_cuda_init: found 1 ROCm devices (Total VRAM: 48152 MiB):\n"
      "  Device 0: Radeon 8060S Graphics, gfx1151 (0x1151), VMM: no, Wave Size: 32, VRAM: 48152 "
      "MiB\n";
  EXPECT_EQ(diagnose(log).cause.id, "rocm-regression");
}

TEST(TtmCap, a_discrete_card_has_no_such_limit) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 700.00 MiB is free. Of the allocated memory 14.60 GiB is "
      "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n",
      R"({"gfx":"gfx1100","ram":"32 GB"})");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
}

TEST(TtmCap, an_apu_with_an_override_is_still_an_apu) {
  const auto diagnosis = diagnose(
      "HSA_OVERRIDE_GFX_VERSION=11.0.0\n"
      "  Name:                    gfx1100\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
      "capacity of 15.60 GiB of which 300.00 MiB is free. Of the allocated memory 14.90 GiB is "
      "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n",
      R"({"gfx":"gfx1103","ram":"32 GB"})");
  EXPECT_EQ(diagnosis.cause.id, "ttm-cap");
}

TEST(GttsizeCap, a_limit_that_an_option_names_was_set_by_somebody) {
  const auto diagnosis = diagnose(
      "options ttm pages_limit=2097152\n"
      "amdgpu 0000:c4:00.0: amdgpu: 512M of VRAM memory ready\n"
      "amdgpu 0000:c4:00.0: amdgpu: 8192M of GTT memory ready.\n"
      "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 11000.00 MiB on device 0: hipMalloc "
      "failed: out of memory\n",
      R"({"gfx":"gfx1150","ram":"64 GB"})");
  EXPECT_EQ(diagnosis.cause.id, "gttsize-cap");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
}

TEST(GttsizeCap, a_gttsize_above_the_carve_out_leads_away_from_it) {
  const auto diagnosis = diagnose(
      "BOOT_IMAGE=/vmlinuz amdgpu.gttsize=117760\n"
      "amdgpu 0000:c6:00.0: amdgpu: 98304M of VRAM memory ready\n"
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 16.00 GiB. GPU 0 has a total "
      "capacity of 15.24 GiB of which 15.00 GiB is free.\n",
      R"({"gfx":"gfx1151","ram":"128 GB"})");
  EXPECT_EQ(diagnosis.cause.id, "gttsize-cap");
}

TEST(UmaCarveoutSmall, a_program_that_sees_the_carve_out_alone) {
  const auto diagnosis = diagnose(
      "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB (GPU 0; 512.00 "
      "MiB total capacity; 210.00 MiB already allocated; 10.00 MiB free; 240.00 MiB reserved in "
      "total by PyTorch)\n",
      R"({"gfx":"gfx1035","kernel":"6.2.0-26-generic"})");
  EXPECT_EQ(diagnosis.cause.id, "uma-carveout-small");
  const auto skipped = diagnose(
      "level=INFO source=amd_linux.go:274 msg=\"unsupported Radeon iGPU detected skipping\" id=0 "
      "total=\"512.0 MiB\"\n");
  EXPECT_EQ(skipped.cause.id, "uma-carveout-small");
}

TEST(UmaCarveoutSmall, a_small_discrete_card_is_just_small) {
  const auto diagnosis = diagnose(
      "RuntimeError: HIP out of memory. Tried to allocate 512.00 MiB (GPU 0; 4.00 GiB total "
      "capacity; 3.60 GiB already allocated; 40.00 MiB free; 3.70 GiB reserved in total by "
      "PyTorch)\n",
      R"({"gfx":"gfx1034"})");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
}

TEST(TtmCap, a_run_that_went_well_is_not_blamed_for_half_of_the_ram) {
  const auto diagnosis = diagnose(
      "Agent 1\n  Device Type:             CPU\n"
      "      Size:                    32768000(0x1f40000) KB\n"
      "Agent 2\n  Name:                    gfx1103\n  Device Type:             GPU\n"
      "      Size:                    16384000(0xfa0000) KB\n"
      "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 15000 MB memory\n");
  EXPECT_NE(diagnosis.cause.id, "ttm-cap");
}

// ------------------------------------------------------------------ host memory and sharing

TEST(CgroupMemoryLimit, the_kernel_names_the_control_group) {
  const auto diagnosis = diagnose(
      "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=pod,mems_allowed=0,"
      "task=python3,pid=812\n"
      "Memory cgroup out of memory: Killed process 812 (python3) total-vm:91234567kB\n");
  EXPECT_EQ(diagnosis.cause.id, "cgroup-memory-limit");
  EXPECT_GE(diagnosis.cause.confidence, 0.9);
  const auto pod = diagnose(
      "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n");
  EXPECT_EQ(pod.cause.id, "cgroup-memory-limit");
}

TEST(CgroupMemoryLimit, the_machines_own_ram_is_no_limit_of_a_group) {
  const auto diagnosis = diagnose(
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=llama-server,pid=99\n"
      "Out of memory: Killed process 99 (llama-server) total-vm:81234567kB, amdgpu\n");
  EXPECT_NE(diagnosis.cause.id, "cgroup-memory-limit");
}

TEST(CgroupMemoryLimit, an_exit_code_alone_is_not_sure) {
  const auto diagnosis = diagnose("vllm-rocm exited with code 137\n");
  EXPECT_EQ(diagnosis.cause.id, "cgroup-memory-limit");
  EXPECT_LE(diagnosis.cause.confidence, 0.6);
  EXPECT_NE(diagnose("\"OOMKilled\": false,\n").cause.id, "cgroup-memory-limit");
}

TEST(CgroupMemoryLimit, a_limit_that_is_told_makes_a_kill_likelier_and_a_cards_size_does_not) {
  const auto limited = diagnose("    memory:  6Gi\nollama exited with code 137\n");
  EXPECT_GT(limited.cause.confidence, 0.55);
  EXPECT_THAT(limited.cause.title, ::testing::HasSubstr("6.00 GiB"));
  EXPECT_LT(diagnose("GPU memory: 16GB\nollama exited with code 137\n").cause.confidence, 0.5);
}

TEST(HipblasWorkspace, a_solver_that_fails_with_memory_free_lacks_workspace) {
  const auto diagnosis = diagnose(
      "free memory: 14.2 GiB\n"
      "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling "
      "`hipblasStrsmBatched( handle, side )`\n");
  EXPECT_EQ(diagnosis.cause.id, "hipblas-workspace");
  EXPECT_GE(diagnosis.cause.confidence, 0.9);
}

TEST(HipblasWorkspace, making_a_handle_on_a_full_card_is_none) {
  const auto diagnosis = diagnose(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total "
      "capacity of 15.98 GiB of which 120.00 MiB is free. Of the allocated memory 14.90 GiB is "
      "allocated by PyTorch, and 190.10 MiB is reserved by PyTorch but unallocated.\n"
      "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling "
      "`hipblasCreate(handle)`\n");
  EXPECT_EQ(diagnosis.cause.id, "job-too-big");
}

TEST(ManagedMemory, pages_that_cannot_move_make_it_slow) {
  const auto found = diagnose(
      "WARNING: this configuration does not support page migration between device and host.\n",
      R"({"gfx": "gfx90a"})");
  EXPECT_EQ(found.cause.id, "managed-memory");
  EXPECT_LT(found.cause.confidence, 0.8);
}

TEST(ManagedMemory, the_driver_refuses_to_map_beyond_its_limit) {
  const auto diagnosis = diagnose(
      "amdgpu: SVM mapping failed, exceeds resident system memory limit\n"
      "llama-server: Segmentation fault (core dumped)\n");
  EXPECT_EQ(diagnosis.cause.id, "managed-memory");
}

TEST(ManagedMemory, what_ends_with_svm_switched_off_came_from_it) {
  const auto diagnosis = diagnose(
      "RuntimeError: HIP error: out of memory\n"
      "$ HSA_USE_SVM=0 python serve.py\n"
      "INFO ready\n");
  EXPECT_EQ(diagnosis.cause.id, "managed-memory");
}

TEST(ManagedMemory, a_gpu_that_refuses_it) {
  const auto diagnosis =
      diagnose("hipMallocManaged returned hipErrorNotSupported\n", R"({"gfx":"gfx1150"})");
  EXPECT_EQ(diagnosis.cause.id, "managed-memory");
}

TEST(ManagedMemory, a_switch_that_did_not_help_is_not_the_cause) {
  const auto diagnosis = diagnose(
      "$ HSA_USE_SVM=0 python serve.py\n"
      "RuntimeError: HIP error: out of memory\n");
  EXPECT_NE(diagnosis.cause.id, "managed-memory");
}

TEST(TtmCap, free_in_gib_is_understood) {
  const auto found = diagnose(
      "engine: ROCm arena alloc failed (2048.00 MiB chunk): out of memory\n"
      "$ free -g\n"
      "               total        used        free      shared  buff/cache   available\n"
      "Mem:              94           6          50           0          38          87\n"
      "[    1.9] amdgpu 0000:c1:00.0:  512M of VRAM memory ready\n"
      "[    1.9] amdgpu 0000:c1:00.0:  48128M of GTT memory ready.\n",
      R"({"gfx":"gfx1150"})");
  EXPECT_EQ(found.cause.id, "ttm-cap");
  EXPECT_GE(found.cause.confidence, 0.8);
}

TEST(GttsizeCap, a_generous_limit_still_binds_what_the_ram_could_hold) {
  const std::string log =
      "BOOT_IMAGE=/vmlinuz ttm.pages_limit=25165824\n"
      "$ cat /sys/class/drm/card0/device/mem_info_{vram,gtt}_total\n2147483648\n103079215104\n"
      "  Device 0: AMD Radeon 8060S Graphics, gfx1151 (0x1151), VMM: no, VRAM: 98304 MiB\n";
  const auto ask = [](const std::string& mib) {
    return "ggml_backend_cuda_buffer_type_alloc_buffer: allocating " + mib +
           " MiB on device 0: cudaMalloc failed: out of memory\n";
  };
  constexpr const char* ram = R"({"ram":"120 GiB"})";
  EXPECT_EQ(diagnose(log + ask("100500.00"), ram).cause.id, "gttsize-cap");
  // More than the machine could give whatever is set.
  EXPECT_EQ(diagnose(log + ask("140000.00"), ram).cause.id, "job-too-big");
}

TEST(UmaCarveoutSmall, a_plan_with_the_carve_out_beside_a_larger_gtt) {
  const std::string log =
      "llama_params_fit_impl: projected to use 30000 MiB of device memory vs. 8100 MiB of free "
      "device memory\nKilled\n[ 4.1] [drm] amdgpu: 8192M of VRAM memory ready\n"
      "[ 4.1] [drm] amdgpu: 30720M of GTT memory ready.\n";
  const auto found = diagnose(log, R"({"gfx":"gfx1103","ram":"64 GB"})");
  EXPECT_EQ(found.cause.id, "uma-carveout-small");
  EXPECT_GE(found.cause.confidence, 0.7);
}

TEST(CgroupMemoryLimit, a_template_is_no_answer) {
  const std::string ask = "$ docker inspect -f '{{.State.Status}} {{.State.OOMKilled}}' faces\n";
  EXPECT_EQ(diagnose(ask + "exited true\n").cause.id, "cgroup-memory-limit");
  EXPECT_NE(diagnose(ask + "exited false\n").cause.id, "cgroup-memory-limit");
}

TEST(ManagedMemory, a_program_that_cannot_do_without_xnack) {
  const auto found = diagnose(
      "AMDGPU fatal error 1: Running a program that requires XNACK on a system where XNACK is "
      "disabled. This may cause problems.\n",
      R"({"gfx":"gfx90a"})");
  EXPECT_EQ(found.cause.id, "managed-memory");
}

TEST(CgroupMemoryLimit, a_service_that_the_kernel_killed_may_have_met_either_limit) {
  const std::string unit =
      "systemd[1]: llm.service: A process of this unit has been killed by the OOM killer.\n";
  const auto alone = diagnose(unit);
  EXPECT_EQ(alone.cause.id, "cgroup-memory-limit");
  EXPECT_LE(alone.cause.confidence, 0.6);
  EXPECT_NE(
      diagnose(unit + "kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)\n").cause.id,
      "cgroup-memory-limit");
}

TEST(CgroupMemoryLimit, an_engine_that_denies_it_is_believed) {
  const auto loop = diagnose("\"OOMKilled\": false,\n\"ExitCode\": 139,\n\"RestartCount\": 9\n",
                             R"({"vendor":"AMD"})");
  EXPECT_EQ(loop.cause.id, "crash-loop");
}

TEST(ManagedMemory, a_build_for_integrated_gpus_is_slow_on_a_card) {
  const std::string log =
      "$ make LLAMA_HIPBLAS=1 LLAMA_HIP_UMA=1 -j16\n$ ./main -m a.gguf -ngl 99\n"
      "llama_print_timings:        eval time =   61340.19 ms /    63 runs   (  973.65 ms per "
      "token,     1.03 tokens per second)\n";
  EXPECT_EQ(diagnose(log, R"({"gpu": "RX 7900 XT", "gfx": "gfx1100"})").cause.id, "managed-memory");
  EXPECT_NE(diagnose(log, R"({"gpu": "Radeon 780M", "gfx": "gfx1103"})").cause.id,
            "managed-memory");
}

TEST(TtmCap, a_process_that_dies_while_it_loads_may_have_been_refused_memory) {
  const std::string pool =
      "[    4.2] [drm] amdgpu: 512M of VRAM memory ready\n"
      "[    4.2] [drm] amdgpu: 31782M of GTT memory ready.\n"
      "               total        used        free      shared  buff/cache   available\n"
      "Mem:              62           6          51           0           5          55\n"
      "  Device 0: AMD Radeon Graphics, gfx1150 (0x1150), VMM: no, Wave Size: 32\n";
  constexpr std::string_view stated =
      R"({"vendor": "AMD", "gpu": "Radeon 890M", "gfx": "gfx1150", "ram": "62 GB"})";
  const std::string died = "Segmentation fault (core dumped)\n";
  const std::string loads = "load_tensors: offloaded 49/49 layers to GPU\n";
  EXPECT_EQ(testing::diagnose(pool + loads + died, stated).cause.id, "ttm-cap");
  EXPECT_NE(testing::diagnose(pool + died, stated).cause.id, "ttm-cap");
}

}  // namespace
}  // namespace headroom::findings
