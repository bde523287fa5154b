// SPDX-License-Identifier: Apache-2.0
// Whose fault it is, by what a log shows beside the error: who raised it, what worked before or
// after it, what forced it, and whether the job ended at all.
#include <gmock/gmock.h>

#include "findings/causes/libraries.h"
#include "findings/causes/raised_in.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using ::testing::Contains;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD", "gfx": "gfx1100"})";

// ------------------------------------------------------------------ who raised it

TEST(RaisedIn, a_path_tells_whose_code_it_is) {
  EXPECT_EQ(owner_of_path("/v/lib/python3.12/site-packages/vllm/config.py"), CodeOwner::framework);
  EXPECT_EQ(owner_of_path(R"(D:\v\Lib\site-packages\torch\_ops.py)"), CodeOwner::framework);
  EXPECT_EQ(owner_of_path("/workspace/vllm/vllm/v1/engine/core.py"), CodeOwner::framework);
  EXPECT_EQ(owner_of_path("/tmp/torchinductor_me/ab/cab.py"), CodeOwner::generated);
  EXPECT_EQ(owner_of_path("/v/lib/python3.12/site-packages/peft/config.py"), CodeOwner::library);
  EXPECT_EQ(owner_of_path("/usr/lib/python3.12/json/decoder.py"), CodeOwner::library);
  EXPECT_EQ(owner_of_path("/srv/job/vllm-tests/run.py"), CodeOwner::user);
}

TEST(FrameworkBug, an_assertion_in_code_that_the_compiler_wrote) {
  const LogDiagnosis diagnosis = diagnose(
      "Traceback (most recent call last):\n"
      "  File \"/srv/job/fit.py\", line 40, in step\n    out = net(x)\n"
      "  File \"/tmp/torchinductor_me/xy/cxyz.py\", line 310, in call\n"
      "    assert_size_stride(buf3, (8, 64), (64, 1))\n"
      "AssertionError: expected size 8==16, stride 64==64 at dim=0\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "framework-bug");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
  EXPECT_THAT(diagnosis.cause.fix.front().whole(), HasSubstr("TORCH_COMPILE_DISABLE"));
}

TEST(FrameworkBug, a_wrong_call_belongs_to_whoever_wrote_it) {
  constexpr std::string_view head =
      "Traceback (most recent call last):\n  File \"/srv/job/serve.py\", line 4, in main\n"
      "    start()\n";
  constexpr std::string_view error =
      "TypeError: Impl.forward() takes from 5 to 6 positional arguments but 7 were given\n";
  const std::string within =
      std::string(head) +
      "  File \"/v/lib/python3.11/site-packages/vllm/attention/layer.py\", line 9, in forward\n"
      "    return self.impl.forward(\n";
  const LogDiagnosis framework = diagnose(within + std::string(error), amd);
  EXPECT_EQ(framework.cause.id, "framework-bug");
  EXPECT_LT(framework.cause.confidence, 0.8);
  const LogDiagnosis own = diagnose(std::string(head) + std::string(error), amd);
  EXPECT_EQ(own.cause.id, "app-bug");
}

TEST(AppBug, frames_that_hand_a_call_on_did_not_write_it) {
  constexpr std::string_view head =
      "Traceback (most recent call last):\n  File \"/srv/job/draw.py\", line 4, in main\n"
      "    pipe(text, wrong=1)\n";
  const LogDiagnosis call = diagnose(
      std::string(head) +
          "  File \"/v/lib/python3.11/site-packages/torch/utils/_contextlib.py\", line 116, in "
          "decorate_context\n    return func(*args, **kwargs)\n"
          "TypeError: Pipe.__call__() got an unexpected keyword argument 'wrong'\n",
      amd);
  EXPECT_EQ(call.cause.id, "app-bug");
  const LogDiagnosis attribute = diagnose(
      std::string(head) +
          "  File \"/v/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1729, in "
          "__getattr__\n    raise AttributeError(\n"
          "AttributeError: 'Net' object has no attribute 'hidden'\n",
      amd);
  EXPECT_EQ(attribute.cause.id, "app-bug");
}

TEST(AppBug, a_job_that_comfyui_says_it_executed_has_failed_all_the_same) {
  const LogDiagnosis diagnosis = diagnose(
      "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x768 and 512x10)\n\n\n\n"
      "Prompt executed in 3.10 seconds\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "app-bug");
  EXPECT_GE(diagnosis.cause.confidence, 0.7);
}

// ------------------------------------------------------------------ what worked beside it

constexpr std::string_view two_devices =
    "  Device 0: AMD Radeon RX 9070 XT, gfx1201 (0x1201), VMM: no, Wave Size: 32\n"
    "  Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n"
    "Segmentation fault (core dumped)\n";

TEST(IgpuSelected, left_out_behind_the_failure_and_it_works) {
  const LogDiagnosis diagnosis = diagnose(
      std::string(two_devices) +
      "$ HIP_VISIBLE_DEVICES=0 ./llama-server -m q.gguf\nserver is listening on http://[::]:80\n");
  EXPECT_EQ(diagnosis.cause.id, "igpu-selected");
  EXPECT_GE(diagnosis.cause.confidence, 0.85);
}

TEST(IgpuSelected, left_out_from_the_beginning_it_has_no_part) {
  EXPECT_NE(diagnose("$ export HIP_VISIBLE_DEVICES=0\n" + std::string(two_devices)).cause.id,
            "igpu-selected");
  const LogDiagnosis again = diagnose(
      std::string(two_devices) +
      "$ HIP_VISIBLE_DEVICES=0 ./llama-server -m q.gguf\nSegmentation fault (core dumped)\n");
  EXPECT_LT(confidence_of(again, "igpu-selected"), 0.5);
}

TEST(IgpuSelected, the_program_names_the_device_it_took) {
  const LogDiagnosis diagnosis =
      diagnose("Using device: AMD Radeon 610M\nRuntimeError: HIP error: invalid device function\n",
               R"({"vendor": "AMD", "gpu": "RX 7900 XTX", "cpu": "Ryzen 9 7950X"})");
  EXPECT_EQ(diagnosis.cause.id, "igpu-selected");
}

TEST(RocmRegression, two_runs_of_one_log_are_compared) {
  constexpr std::string_view good =
      "pytorch version: 2.7.1+rocm6.3\nPrompt executed in 9.10 seconds\n";
  constexpr std::string_view bad =
      "pytorch version: 2.8.0+rocm6.4\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. Reason: Unknown.\n";
  const LogDiagnosis diagnosis = diagnose(std::string(good) + std::string(bad), amd);
  EXPECT_EQ(diagnosis.cause.id, "rocm-regression");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("ROCm 6.4 breaks"));
  EXPECT_EQ(diagnose(std::string(bad) + std::string(good), amd).cause.id, "rocm-regression");
  EXPECT_NE(diagnose(bad, amd).cause.id, "rocm-regression");
}

TEST(RocmRegression, a_known_one_wins_over_what_the_log_compares) {
  constexpr std::string_view good =
      "pytorch version: 2.4.1+rocm6.1\nPrompt executed in 9.10 seconds\n";
  constexpr std::string_view bad =
      "pytorch version: 2.3.1+rocm6.0\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. Reason: Unknown.\n";
  const LogDiagnosis diagnosis =
      diagnose(std::string(good) + std::string(bad), R"({"gfx": "gfx900", "rocm": "6.0"})");
  EXPECT_EQ(diagnosis.cause.id, "rocm-regression");
  EXPECT_GE(diagnosis.cause.confidence, 0.8);
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("ROCm 6.0 is known not to work"));
  EXPECT_THAT(diagnosis.cause.reasons, Contains(HasSubstr("runs with ROCm 6.1")));
  const LogDiagnosis other = diagnose(std::string(good) + std::string(bad), amd);
  EXPECT_THAT(other.cause.title, HasSubstr("ROCm 6.0 breaks"));
}

TEST(RocmRegression, packages_put_back_behind_the_crash) {
  constexpr std::string_view update =
      "[2025-03-01T10:00:00+0100] [ALPM] upgraded rocblas (6.2.4-1 -> 6.3.3-1)\n";
  constexpr std::string_view crash = "Segmentation fault (core dumped)\n";
  constexpr std::string_view back = "$ sudo pacman -U /var/cache/pacman/pkg/rocblas-6.2.4-1.pkg\n";
  const std::string both = std::string(update) + std::string(crash);
  const LogDiagnosis diagnosis = diagnose(both + std::string(back), amd);
  EXPECT_EQ(diagnosis.cause.id, "rocm-regression");
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("6.3.3"));
  EXPECT_LT(confidence_of(diagnose(both, amd), "rocm-regression"), 0.5);
  const std::string again = both + std::string(back) + std::string(crash);
  EXPECT_NE(diagnose(again, amd).cause.id, "rocm-regression");
}

TEST(GfxTargetDropped, ollama_used_it_before_its_update) {
  constexpr std::string_view older =
      "level=INFO msg=\"Listening on 0.0.0.0:11434 (version 0.11.2)\"\n"
      "level=INFO msg=\"inference compute\" id=0 library=rocm variant=\"\" compute=gfx906 "
      "driver=0.0 total=\"16.0 GiB\" available=\"16.0 GiB\"\n";
  constexpr std::string_view newer =
      "level=INFO msg=\"Listening on 0.0.0.0:11434 (version 0.14.1)\"\n"
      "level=INFO msg=\"failure during GPU discovery\" error=\"runner crashed\"\n"
      "level=INFO msg=\"inference compute\" id=cpu library=cpu compute=\"\" total=\"15.5 GiB\"\n";
  const LogDiagnosis diagnosis = diagnose(std::string(older) + std::string(newer));
  EXPECT_EQ(diagnosis.cause.id, "gfx-target-dropped");
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("0.11.2 did"));
  const LogDiagnosis alone = diagnose(newer, R"({"vendor": "AMD", "gfx": "gfx906"})");
  EXPECT_EQ(alone.cause.id, "gfx-target-dropped");
  EXPECT_LT(alone.cause.confidence, diagnosis.cause.confidence);
  EXPECT_NE(diagnose(newer, amd).cause.id, "gfx-target-dropped");
}

// ------------------------------------------------------------------ what forced it

TEST(UnsupportedOption, a_variable_that_switches_missing_kernels_on) {
  constexpr std::string_view error =
      "  File \"/v/lib/python3.12/site-packages/aiter/jit/core.py\", line 7, in check\n"
      "AssertionError: One of GPU archs of ['gfx1100'] is invalid or not supported\n";
  const LogDiagnosis forced = diagnose("export VLLM_ROCM_USE_AITER=1\n" + std::string(error), amd);
  EXPECT_EQ(forced.cause.id, "unsupported-option");
  EXPECT_GE(forced.cause.confidence, 0.85);
  EXPECT_EQ(diagnose("export VLLM_ROCM_USE_AITER=0\n" + std::string(error), amd).cause.id,
            "gfx-target-missing");
}

TEST(UnsupportedOption, what_is_told_in_passing_is_no_failure) {
  constexpr std::string_view remark =
      "config.py:9] The custom kernel is not supported on ROCm and is left out.\n";
  const std::string passing = "INFO 03-28 18:30:05 " + std::string(remark);
  const LogDiagnosis works = diagnose(passing + "INFO:     Application startup complete.\n", amd);
  EXPECT_EQ(works.cause.id, "none");
  EXPECT_EQ(diagnose("ERROR 03-28 18:30:05 " + std::string(remark), amd).cause.id,
            "unsupported-option");
}

// ------------------------------------------------------------------ what is not there

TEST(MissingLibrary, vllm_sees_no_platform_without_its_module) {
  const LogDiagnosis told = diagnose(
      "DEBUG 01-02 03:04:05 [__init__.py:1] CUDA platform is not available because: NVML Shared "
      "Library Not Found\n"
      "DEBUG 01-02 03:04:05 [__init__.py:2] ROCm platform is not available because: No module "
      "named 'amdsmi'\n"
      "RuntimeError: Failed to infer device type\n",
      amd);
  EXPECT_EQ(told.cause.id, "missing-library");
  EXPECT_GE(told.cause.confidence, 0.85);
  EXPECT_EQ(diagnose("RuntimeError: Failed to infer device type\n", amd).cause.id, "wrong-wheel");
  EXPECT_EQ(diagnose("RuntimeError: Failed to infer device type\n",
                     R"({"vendor": "AMD", "framework": "torch 2.8.0+rocm6.4"})")
                .cause.id,
            "missing-library");
}

TEST(MissingLibrary, a_library_of_the_release_of_its_day_is_missing_and_not_another) {
  constexpr std::string_view error =
      " runner: error while loading shared libraries: libhipblas.so.2: cannot open shared object "
      "file: No such file or directory\n";
  const auto at = [&](std::string_view day) {
    return diagnose(std::string(day) + std::string(error), R"({"vendor": "AMD"})");
  };
  EXPECT_EQ(at("2024-08-01T10:00:00Z").cause.id, "missing-library");
  EXPECT_GT(confidence_of(at("2026-02-01T10:00:00Z"), "rocm-version-mismatch"), 0.4);
  EXPECT_TRUE(was_current(6, "2024-08"));
  EXPECT_FALSE(was_current(5, "2024-08"));
  EXPECT_FALSE(was_current(6, ""));
}

TEST(BackendUnavailable, a_build_without_distributed) {
  for (const char* error :
       {"AttributeError: module 'torch.distributed' has no attribute 'is_initialized'\n",
        "ModuleNotFoundError: No module named 'torch._C._distributed_c10d'; 'torch._C' is not a "
        "package\n",
        "RuntimeError: PyTorch built without distributed support\n"}) {
    EXPECT_EQ(diagnose(error, amd).cause.id, "backend-unavailable") << error;
  }
  EXPECT_NE(diagnose("AttributeError: module 'torch.distributed' has no attribute 'nosuch'\n", amd)
                .cause.id,
            "backend-unavailable");
}

TEST(TorchaoIncompatible, whatever_fails_while_it_is_imported) {
  constexpr std::string_view error =
      "  File \"C:\\v\\Lib\\site-packages\\torch\\_ops.py\", line 5, in __getattr__\n"
      "AttributeError: '_OpNamespace' '_c10d_functional' object has no attribute 'all_reduce'\n";
  const LogDiagnosis importing = diagnose(
      "  File \"C:\\v\\Lib\\site-packages\\torchao\\float8\\ops.py\", line 5, in <module>\n" +
          std::string(error),
      amd);
  EXPECT_EQ(importing.cause.id, "torchao-incompatible");
  EXPECT_EQ(diagnose(error, amd).cause.id, "backend-unavailable");
}

TEST(PythonVersionUnsupported, the_log_names_a_wheel_for_another_python) {
  constexpr std::string_view none = "ERROR: No matching distribution found for tensorflow-rocm\n";
  const std::string python = "Python 3.11.4\n";
  const LogDiagnosis other = diagnose(
      python + std::string(none) +
          "  Downloading tensorflow_rocm-2.11.1.550-cp310-cp310-manylinux2014_x86_64.whl\n",
      amd);
  EXPECT_EQ(other.cause.id, "python-version-unsupported");
  EXPECT_GE(other.cause.confidence, 0.85);
  const LogDiagnosis same = diagnose(
      python + std::string(none) +
          "  Downloading tensorflow_rocm-2.14.0.600-cp311-cp311-manylinux2014_x86_64.whl\n",
      amd);
  EXPECT_LT(confidence_of(same, "python-version-unsupported"), 0.5);
}

// ------------------------------------------------------------------ nobody's, or not known

TEST(NotAmd, cuda_asked_for_on_a_machine_of_intel) {
  constexpr std::string_view log =
      "2026-03-05 11:40:14 [E:onnxruntime:Default, provider_bridge_ort.cc:1548 "
      "TryGetProviderInfo_CUDA] [ONNXRuntimeError] : 1 : FAIL : Failed to load library "
      "libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open shared object "
      "file: No such file or directory\n"
      "2026-03-05 11:40:14 [W:onnxruntime:Default, onnxruntime_pybind_state.cc:861 "
      "CreateExecutionProviderInstance] Failed to create CUDAExecutionProvider.\n";
  EXPECT_EQ(diagnose(log, R"({"vendor": "Intel"})").cause.id, "not-amd-gpu");
  EXPECT_NE(diagnose(log, amd).cause.id, "not-amd-gpu");
}

TEST(NotAmd, an_integrated_gpu_of_intel) {
  const LogDiagnosis diagnosis = diagnose(
      "Exception from src/plugins/intel_gpu/src/runtime/ocl/ocl_engine.cpp:10:\n"
      "ERROR    Exception in ASGI application\n");
  EXPECT_EQ(diagnosis.cause.id, "not-amd-gpu");
}

TEST(Insufficient, a_job_that_was_begun_and_not_ended) {
  constexpr std::string_view begun =
      "To see the GUI go to: http://127.0.0.1:8188\ngot prompt\n"
      "100%|##########| 20/20 [00:07<00:00,  2.62it/s]\n";
  const LogDiagnosis open = diagnose(begun, amd);
  EXPECT_EQ(open.cause.id, "insufficient-evidence");
  EXPECT_THAT(open.cause.title, HasSubstr("still running"));
  EXPECT_EQ(diagnose(std::string(begun) + "Prompt executed in 8.00 seconds\n", amd).cause.id,
            "none");
}

TEST(Insufficient, somebody_writes_that_nothing_comes) {
  for (const char* remark : {"# an hour later, nothing more\n", "# it stops here\n",
                             "(40 minutes later)  # still nothing else\n"}) {
    EXPECT_EQ(
        diagnose("INFO:     Application startup complete.\n" + std::string(remark), amd).cause.id,
        "insufficient-evidence")
        << remark;
  }
}

TEST(Healthy, trusted_applications_of_older_cards_are_optional) {
  const LogDiagnosis diagnosis = diagnose(
      "[  3.3] amdgpu 0000:19:00.0: Direct firmware load for amdgpu/navi10_ta.bin failed with "
      "error -2\n"
      "[  4.7] [drm] Initialized amdgpu 3.40.0 20150101 for 0000:19:00.0 on minor 0\n"
      "$ ./gpuowl\n2021-01-02 03:04:05 100003 20000 0.02%; 871 us/it; ETA 0d 21:46; 0f1d9a2bc33e\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "none");
}

TEST(FrameworkBug, a_build_that_lacks_a_function_of_its_own) {
  const auto own = diagnose(
      "ImportError: /v/site-packages/engine/_C.abi3.so: undefined symbol: _Z10fused_gateRKN2at6T\n",
      R"({"vendor": "AMD"})");
  EXPECT_EQ(own.cause.id, "framework-bug");
  EXPECT_LE(own.cause.confidence, 0.6);
  const auto of_torch = diagnose(
      "ImportError: /v/site-packages/engine/_C.abi3.so: undefined symbol: _ZN3c105ErrorC2ENS_1\n",
      R"({"vendor": "AMD"})");
  EXPECT_NE(of_torch.cause.id, "framework-bug");
}

TEST(GfxOverrideWrong, an_error_of_the_programs_logic_is_not_its_doing) {
  const auto found = diagnose(
      "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
      "AttributeError: module 'torch.version' has no attribute 'rocm'\n",
      R"({"gfx": "gfx1010"})");
  EXPECT_NE(found.cause.id, "gfx-override-wrong");
}

// ------------------------------------------------------------------ several failures in one report

TEST(SeveralFailures, leave_no_cause_sure_even_if_both_go_by_the_same_release) {
  const auto diagnosis = diagnose(
      "torch 2.5.1+rocm6.2 on gfx906\n"
      "AttributeError: module 'torch' has no attribute 'int1'\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x5581) on address (nil). Reason: "
      "Unknown.\n",
      R"({"gfx":"gfx906","framework":"torch 2.5.1+rocm6.2"})");
  EXPECT_EQ(diagnosis.cause.id, "torchao-incompatible");
  EXPECT_LT(diagnosis.cause.confidence, 0.8);
  EXPECT_GT(confidence_of(diagnosis, "gfx-target-dropped"), 0.1);
}

TEST(DeviceIndex, a_job_that_ran_out_of_memory_had_found_its_device) {
  const auto diagnosis = diagnose(
      "GPU 0: 21.46GB used / 21.46GB total (99.9% used)\n"
      "HIP out of memory. Tried to allocate 96.00 MiB. GPU has 19.98 GiB total of which 0 bytes is "
      "free.\n"
      "device >= 0 && device < num_gpus INTERNAL ASSERT FAILED\n",
      R"({"gfx":"gfx1100"})");
  EXPECT_EQ(diagnosis.cause.id, "vram-held-by-other");
}

}  // namespace
}  // namespace headroom::findings
