// SPDX-License-Identifier: Apache-2.0
// data/messages.toml, and what its rows do to an answer: every cause exists, a message alone is
// answered, one that several causes share is unsure and names the others, and a rule that knows
// more decides.
#include "findings/causes/messages.h"

#include <algorithm>

#include "findings/causes/causes.h"
#include "findings/causes/told_forms_testing.h"

namespace headroom::findings {
namespace {

using testing::amd;
using testing::confidence_of;
using testing::diagnose;
using testing::Form;

bool has_rule(std::string_view id) {
  const auto rules = cause_rules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const CauseRule* rule) { return rule->id == id; });
}

TEST(Messages, name_causes_that_exist) {
  std::size_t messages = 0;
  for (const knowledge::Signature& row : testing::tables().signatures.rows) {
    messages += row.causes.empty() ? 0 : 1;
    for (const auto& cause : row.causes) EXPECT_TRUE(has_rule(cause.id)) << row.id << cause.id;
  }
  EXPECT_GT(messages, 40U);
}

// The programs' own lines, without anything that helps.
TEST(Messages, are_answered_alone) {
  const std::vector<Form> forms = {
      {"hipErrorInsufficientDriver: driver version is insufficient for runtime version\n",
       "kernel-too-old"},
      {"hipErrorPeerAccessAlreadyEnabled: peer access is already enabled\n", "app-bug"},
      {"RuntimeError: HIP error: operation not supported\n", "unsupported-option"},
      {"HIP error: named symbol not found\n", "framework-bug"},
      {"HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is invalid.\n", "gfx-target-missing"},
      {"device ID 0x15dd is not supported in libhsakmt\n", "gpu-unsupported"},
      {":1:rocdevice.cpp :2015: Allow p2p access failed - hsa_amd_agents_allow_access with err "
       "4104\n",
       "rccl-p2p"},
      {"amdgpu 0000:03:00.0: [drm:amdgpu_ib_ring_tests [amdgpu]] *ERROR* IB test failed on "
       "gfx_0.0.0 (-110).\n",
       "gpu-hang"},
      {"amdgpu 0000:03:00.0: amdgpu: Failed to get doorbell resource\n", "bar-too-small"},
      {"RuntimeError: CUDA error: HIPBLAS_STATUS_ARCH_MISMATCH when calling hipblasGemmEx\n",
       "gfx-target-missing"},
      {"NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on CUDA device c000\n"
       "DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, invalid usage\n",
       "app-bug"},
      {"NCCL WARN Error while creating shared memory segment /dev/shm/nccl-LkPKu9 (size 96378)\n",
       "cgroup-memory-limit"},
      {"clang++: error: unknown argument: '-mcode-object-version=6'\n", "rocm-version-mismatch"},
      {"fatal error: error in backend: Cannot select: intrinsic "
       "%llvm.amdgcn.raw.ptr.buffer.load.lds\n",
       "framework-bug"},
      {"RuntimeError: Failed to find C compiler. Please specify via CC environment variable\n",
       "missing-library"},
      {"level=WARN msg=\"amdgpu detected, but no compatible rocm library found.\"\n",
       "missing-library"},
      {"Number of platforms                               0\n", "missing-library"},
      {"Error! Your kernel headers for kernel 6.8.0-40-generic cannot be found at /lib/modules\n",
       "driver-not-loaded"}};
  testing::expect(forms);
}

TEST(Messages, that_several_causes_share_leave_the_answer_unsure) {
  const auto found = diagnose(
      "RuntimeError: CUDA error: HIPBLAS_STATUS_ALLOC_FAILED when calling "
      "`hipblasCreate(handle)`\n",
      amd);
  EXPECT_LT(found.cause.confidence, 0.8);
  EXPECT_GT(confidence_of(found, "gfx-target-missing"), 0);
  EXPECT_GT(confidence_of(found, "vram-held-by-other"), 0);
}

TEST(Messages, say_nothing_of_a_run_that_went_on) {
  EXPECT_EQ(diagnose("[WARNING] installed hip version 6.3 does not match the version torch was "
                     "compiled with 6.2\n{'loss': 0.41, 'epoch': 1.0}\n{'train_runtime': 81.2}\n",
                     amd)
                .cause.id,
            "none");
}

TEST(Messages, give_way_to_a_rule_that_knows_more) {
  const auto found = diagnose(
      "hipErrorNotFound: named symbol not found\n"
      "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file "
      "or directory for GPU arch : gfx1103\n",
      R"({"vendor": "AMD", "gfx": "gfx1103"})");
  EXPECT_EQ(found.cause.id, "gfx-target-missing");
}

// A store that nobody answers is no matter of the GPUs.
TEST(Messages, of_ranks_that_do_not_meet_blame_no_gpu) {
  for (const std::string_view line :
       {"RuntimeError: NCCL Socket Timeout\n",
        "DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.\n",
        "RuntimeError: Timeout waiting for key: default_pg/0//worker_count after 1800000 ms\n"}) {
    const auto found = diagnose(line, amd);
    EXPECT_EQ(found.cause.id, "collective-hang") << line;
    EXPECT_EQ(found.cause.title, "The ranks of the job do not find each other") << line;
    EXPECT_EQ(confidence_of(found, "rccl-p2p"), 0) << line;
    EXPECT_GT(confidence_of(found, "app-bug"), 0) << line;
  }
}

TEST(Messages, of_an_lxc_container_with_dri_alone) {
  const std::string lost = "msg=\"no compatible GPUs were discovered\"\n";
  const std::string_view stated = R"({"vendor": "AMD"})";
  const std::string dri = "dev0: /dev/dri/card0,gid=44\ndev1: /dev/dri/renderD128,gid=104\n";
  EXPECT_EQ(diagnose(dri + "unprivileged: 1\n" + lost, stated).cause.id, "kfd-not-passed");
  EXPECT_EQ(diagnose("lxc.cgroup2.devices.allow: c 226:0 rwm\n"
                     "lxc.mount.entry: /dev/dri/renderD128 dev/dri/renderD128 none bind\n" +
                         lost,
                     stated)
                .cause.id,
            "kfd-not-passed");
  EXPECT_NE(diagnose(dri + "dev2: /dev/kfd,gid=104\nunprivileged: 1\n" + lost, stated).cause.title,
            "The container was not given /dev/kfd, which ROCm needs");
}

TEST(Messages, of_a_crash_where_the_integrated_gpu_is_listed_first) {
  const std::vector<std::string> listings = {
      "torch.cuda.get_device_name(0): AMD Radeon Graphics\n"
      "torch.cuda.get_device_name(1): AMD Radeon RX 7800 XT\n",
      "['AMD Radeon Graphics', 'AMD Radeon RX 7900 XTX']\n",
      "device 0: AMD Radeon(TM) Graphics\ndevice 1: AMD Radeon RX 6700 XT\n",
      "Agent 2\n  Name:                    gfx1036\n  Marketing Name:          AMD Radeon "
      "Graphics\n"
      "Agent 3\n  Name:                    gfx1100\n"};
  for (const std::string& listing : listings) {
    const auto found = diagnose(listing + "Segmentation fault (core dumped)\n", "{}");
    EXPECT_EQ(found.cause.id, "igpu-selected") << listing;
    EXPECT_LT(found.cause.confidence, 0.8) << listing;
  }
  EXPECT_NE(diagnose("device 0: AMD Radeon RX 6700 XT\ndevice 1: AMD Radeon Graphics\n"
                     "Segmentation fault (core dumped)\n",
                     "{}")
                .cause.title,
            "Device 0 is the integrated GPU, and the job died at its first work");
}

// Builds for HIP use many of CUDA's names.
TEST(Messages, with_cudas_names_and_hips_words_are_of_an_amd_gpu) {
  for (const std::string_view line :
       {"ROCm error: CUBLAS_STATUS_INTERNAL_ERROR\n  current device: 0, in function "
        "ggml_cuda_op_mul_mat_cublas\n",
        "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling hipblasLtMatmul with "
        "transpose_mat1 1\n",
        "RuntimeError: CUDA error: device-side assert triggered\n"
        "/pytorch/aten/src/ATen/native/hip/Indexing.hip:1236: Assertion failed.\n"}) {
    EXPECT_NE(diagnose(line).cause.id, "not-amd-gpu") << line;
  }
  EXPECT_EQ(diagnose("RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling "
                     "cublasGemmEx\n")
                .cause.id,
            "not-amd-gpu");
}

}  // namespace
}  // namespace headroom::findings
