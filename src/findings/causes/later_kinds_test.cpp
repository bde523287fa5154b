// SPDX-License-Identifier: Apache-2.0
// Kinds of evidence that a blind reading of logs brought up: names computed wrongly, indexes from
// which nothing was installed, rates as outcomes, options and words that only look like trouble.
#include "findings/causes/told_forms_testing.h"

namespace headroom::findings {
namespace {

using testing::amd;
using testing::diagnose;
using testing::died;
using testing::expect;
using testing::Form;

TEST(LaterKinds, bitsandbytes_that_computes_its_own_name_wrongly_lacks_no_release) {
  const auto log = [](std::string_view built, std::string_view asked) {
    return "[100%] Linking CXX shared library bitsandbytes/libbitsandbytes_" + std::string(built) +
           ".so\nRuntimeError: Configured ROCm binary not found at "
           "/opt/bitsandbytes/libbitsandbytes_" +
           std::string(asked) + ".so\n";
  };
  EXPECT_EQ(diagnose(log("rocm710", "rocm80"), amd).cause.id, "bitsandbytes-no-rocm");
  EXPECT_EQ(diagnose(log("rocm712", "rocm82"), amd).cause.id, "bitsandbytes-no-rocm");
  EXPECT_EQ(diagnose(log("rocm64", "rocm70") + "torch 2.7.1+rocm6.4\n", amd).cause.id,
            "bitsandbytes-no-rocm");
  EXPECT_EQ(diagnose(log("rocm62", "rocm61"), amd).cause.id, "rocm-version-mismatch");
  EXPECT_EQ(diagnose(log("rocm64", "rocm63") + "torch 2.7.0+rocm6.3\n", amd).cause.id,
            "rocm-version-mismatch");
}

TEST(LaterKinds, an_index_for_rocm_from_which_nothing_came_is_no_build_for_rocm) {
  const std::string asked =
      "pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/rocm6.2\n";
  const std::vector<Form> forms = {
      {asked + "ERROR: No matching distribution found\ntorch 2.8.0+cu128, "
               "torch.cuda.is_available(): False\n",
       "wrong-wheel"},
      {asked + "torch: 2.8.0+cpu\n", "wrong-wheel"},
      {asked + ">>> torch.cuda.is_available()\nFalse\n>>> print(torch.version.cuda)\n12.8\n",
       "wrong-wheel"},
      {">>> torch.version.cuda\n'12.6'\n>>> torch.cuda.is_available()\nFalse\n", "wrong-wheel"},
      {"CUDA used to build PyTorch: 12.1\nIs CUDA available: False\n", "wrong-wheel"}};
  expect(forms);
  EXPECT_NE(diagnose("torch 2.8.0+cu128\n" + asked + "torch 2.8.0+rocm6.2\n" + died, amd).cause.id,
            "wrong-wheel");
}

TEST(LaterKinds, a_word_within_an_option_is_no_remark) {
  for (const std::string_view line :
       {"[bootstrap] uv sync --frozen ... ok\n", "# pip install --no-hang\n",
        "[build] cmake -DALLOW-STUCK=1\n"}) {
    EXPECT_NE(diagnose(line, amd).cause.title, "It hangs without saying why") << line;
  }
  for (const std::string_view line : {"[bootstrap] frozen\n", "# hangs here\n", "-- stuck\n"}) {
    EXPECT_EQ(diagnose(line, amd).cause.title, "It hangs without saying why") << line;
  }
}

TEST(LaterKinds, a_rate_is_an_outcome) {
  const std::string failed =
      "Memory critical error by agent node-0 (Agent handle: 0x2a1e8b0) on address 0x7f3c54000000. "
      "Reason: Memory in use.\nAborted (core dumped)\n";
  for (const std::string_view told :
       {"The same model on the same board with TheRock 7.13.0 (Lemonade, b9586): 243 t/s.\n",
        "With ROCm 6.4.4 I get 41 t/s.\n", "rocm 6.3 runs at 12.5 it/s\n",
        "ROCm 6.4 on this card -> 57 tokens/s\n", "therock 7.14 gives 30 tok/s\n"}) {
    const auto found = diagnose(failed + std::string(told),
                                R"({"vendor": "AMD", "gfx": "gfx1151", "rocm": "7.2.4"})");
    EXPECT_EQ(found.cause.id, "rocm-regression") << told;
  }
}

TEST(LaterKinds, code_that_an_older_release_had_is_not_missing_for_the_card) {
  const std::string refused =
      "Callback: Queue 0x7f09b8a00000 aborting with error : HSA_STATUS_ERROR_INVALID_ISA: The "
      "instruction set architecture is invalid. code: 0x100f\nAborted (core dumped)\n";
  const std::string_view stated =
      R"({"vendor": "AMD", "gpu": "RX 7600 XT", "gfx": "gfx1102", "rocm": "6.0"})";
  for (const std::string_view told :
       {"Used to be fine with the rocm5.7 wheel.\n", "It works with ROCm 5.7.\n",
        "Downgrading to rocm5.7 fixed it.\n"}) {
    EXPECT_EQ(diagnose(refused + std::string(told), stated).cause.id, "rocm-regression") << told;
  }
  // A newer release that works may have brought the code.
  EXPECT_EQ(diagnose(refused + "It works with ROCm 6.4.\n", stated).cause.id, "gfx-target-missing");
}

TEST(LaterKinds, a_warning_with_its_fallback_forces_nothing) {
  const std::string served =
      "INFO:     127.0.0.1:44110 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
  for (const std::string_view line :
       {"WARNING [rocm.py:150] `fork` method is not supported by ROCm. It is overridden to `spawn` "
        "instead.\n",
        "WARNING fp8 kv cache is not supported on AMD GPU, falling back to bf16\n",
        "WARNING custom allreduce is not supported on ROCm and will be ignored\n",
        "WARNING Marlin kernels are not available on ROCm, using exllama instead\n"}) {
    EXPECT_NE(diagnose(std::string(line) + served, amd).cause.id, "unsupported-option") << line;
  }
  EXPECT_EQ(diagnose("ValueError: awq_marlin is not supported on ROCm\n", amd).cause.id,
            "unsupported-option");
}

TEST(LaterKinds, what_else_programs_say_in_so_many_words) {
  const std::vector<Form> forms = {
      {"RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease "
       "`--max-batch-prefill-tokens`\n",
       "job-too-big"},
      {"triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 98304, "
       "Hardware limit: 65536. Reducing block sizes or `num_stages` may help.\n",
       "framework-bug"},
      {"CMake Error at CMakeLists.txt:2 (project):\n  No CMAKE_HIP_COMPILER could be found.\n",
       "missing-library"},
      {"rocblaslt error: Cannot read "
       "\"/opt/rocm/lib/hipblaslt/library/TensileLibrary_lazy_gfx1031.dat\": No such file or "
       "directory\n",
       "gfx-target-missing"},
      {"radv/amdgpu: The CS has been cancelled because the context is lost. This context is guilty "
       "of a hard recovery.\n",
       "gpu-hang"},
      {"RuntimeError: Numpy is not available\n", "app-bug"},
      {"docker: Error response from daemon: unknown or invalid runtime name: amd\n",
       "missing-library"},
      {"ld.lld: error: unable to find library -lstdc++\n", "missing-library"}};
  expect(forms);
}

TEST(LaterKinds, a_crash_beside_an_integrated_gpu_may_be_told_by_its_exit_code) {
  const std::string devices =
      "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n"
      "  Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32\n"
      "load_tensors:        ROCm0 model buffer size =  5211.40 MiB\n"
      "load_tensors:        ROCm1 model buffer size =  2922.17 MiB\n";
  for (const std::string_view end :
       {"Server process terminated unexpectedly with exit code: -11\n",
        "llama-server exited with code 139\n", "Segmentation fault (core dumped)\n"}) {
    EXPECT_EQ(diagnose(devices + std::string(end), "{}").cause.id, "igpu-selected") << end;
  }
}

}  // namespace
}  // namespace headroom::findings
