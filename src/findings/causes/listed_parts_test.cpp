// SPDX-License-Identifier: Apache-2.0
// What programs, runtimes and package managers list of themselves: back-ends, devices, libraries in
// a process, files of firmware; and lists that only look like it.
#include "findings/causes/told_forms_testing.h"

namespace headroom::findings {
namespace {

using testing::amd;
using testing::diagnose;
using testing::expect;
using testing::Form;

const std::string agent = "  Name:                    gfx1100\n";
const std::string on_cpu =
    "time=2026-04-25T09:11:02.611Z level=INFO source=types.go:60 msg=\"inference compute\" id=cpu "
    "library=cpu compute=\"\" name=cpu description=cpu driver=\"\" total=\"125.6 GiB\" "
    "available=\"118.0 GiB\"\n";

TEST(ListedParts, a_program_without_a_back_end_for_amd_shows_it_by_its_files_or_lists) {
  const std::vector<Form> forms = {
      {agent + on_cpu +
           "$ ls /usr/local/lib/ollama/\ncuda_v12  cuda_v13  libggml-base.so  "
           "libggml-cpu-haswell.so\n",
       "backend-unavailable"},
      {on_cpu + "$ ls -la /usr/lib/ollama/rocm\nls: cannot access '/usr/lib/ollama/rocm': No such "
                "file or directory\n",
       "backend-unavailable"},
      {agent + on_cpu, "backend-unavailable"},
      {">>> llama_supports_gpu_offload()\nFalse\n", "backend-unavailable"},
      {"$ llama-cli --list-devices\nAvailable devices:\n$ \n", "backend-unavailable"},
      {">>> ort.get_available_providers()\n['AzureExecutionProvider', 'CPUExecutionProvider']\n",
       "backend-unavailable"},
      {"LightGBMError: GPU Tree Learner was not enabled in this build.\n", "backend-unavailable"},
      {"ValueError: This CTranslate2 package was not compiled with CUDA support\n",
       "backend-unavailable"}};
  expect(forms);
}

TEST(ListedParts, a_program_that_has_the_back_end_lacks_none) {
  for (const std::string& log :
       {agent + on_cpu + "$ ls /usr/local/lib/ollama/\ncuda_v12  libggml-cpu-x64.so  rocm\n",
        std::string(">>> llama_supports_gpu_offload()\nTrue\n"),
        std::string("$ llama-cli --list-devices\nAvailable devices:\n  ROCm0: AMD Radeon RX 7900 "
                    "XTX (24560 MiB, 24510 MiB free)\n"),
        std::string(">>> ort.get_available_providers()\n['MIGraphXExecutionProvider', "
                    "'CPUExecutionProvider']\n")}) {
    const auto found = diagnose(log, amd);
    const bool files = log.find("rocm\n") != std::string::npos;
    // With its files there, that ollama takes the CPU has another reason, and is a guess at most.
    EXPECT_TRUE(found.cause.id != "backend-unavailable" || (files && found.cause.confidence < 0.6))
        << log;
  }
  EXPECT_NE(diagnose(on_cpu, "{}").cause.id, "backend-unavailable");
}

TEST(ListedParts, a_server_on_the_cpu_beside_a_gpu_is_not_healthy) {
  EXPECT_NE(diagnose(on_cpu, amd).cause.id, "none");
  EXPECT_NE(diagnose(agent + ">>> torch.cuda.is_available()\nFalse\n", amd).cause.id, "none");
}

TEST(ListedParts, a_device_that_is_dropped_by_its_target_lacks_code) {
  const std::string stated = R"({"vendor": "AMD", "gpu": "780M", "gfx": "gfx1103"})";
  for (const std::string_view line :
       {"level=WARN msg=\"dropping ROCm device — no rocblas support for gfx target\" device=ROCm0 "
        "gfx_target=gfx1103 supported=\"map[gfx1030:true gfx1100:true gfx942:true]\"\n",
        "WARN skipping GPU 0: arch=gfx1103 supported=[gfx1030 gfx1100]\n",
        "ignoring unsupported device 0 compute=gfx1103\n",
        "[gpu] filtered out adapter 1, target: gfx1103\n",
        "rejected device ROCm0: gpu_arch=gfx1103, supported_targets=[gfx1100 gfx1201]\n"}) {
    EXPECT_EQ(diagnose(line, stated).cause.id, "gfx-target-missing") << line;
  }
}

TEST(ListedParts, a_part_that_the_runtime_opens_itself_may_be_missing) {
  const std::vector<Form> forms = {
      {":1:comgrctx.cpp:66: Failed to load COMGR library.\n"
       "ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n",
       "missing-library"},
      {":1:hiprtcComgrHelper.cpp :500 : Failed to load hiprtc-builtins\n", "missing-library"},
      {"RuntimeError: Could not load libamd_comgr.so.2\n", "missing-library"},
      {"ImportError: Unable to load library libhiprtc.so\n", "missing-library"},
      {"rsmi_init: cannot open librocm_smi64.so\n", "missing-library"},
      {"rocdevice.cpp:621: Code object manager initialization failed for HSA device gfx1100\n",
       "missing-library"}};
  expect(forms);
}

TEST(ListedParts, a_library_twice_in_a_process_mixes_two_releases) {
  const std::string venv = "/opt/venv/lib/python3.12/site-packages";
  const std::vector<Form> forms = {
      {"   221403:     calling init: " + venv +
           "/_rocm_sdk_core/lib/libamd_smi.so.26\n   221403:     calling init: "
           "/opt/rocm-7.2.0/lib/libamd_smi.so\n",
       "rocm-version-mismatch"},
      {"/opt/rocm-6.4.1/lib/libamdhip64.so.6.4.60401\n" + venv +
           "/torch/lib/libamdhip64.so\nSegmentation fault (core dumped)\n",
       "rocm-version-mismatch"},
      {"7f1c00000000-7f1c00400000 r-xp 00000000 08:02 123 /opt/rocm/lib/librocblas.so.4\n"
       "7f1d00000000-7f1d00400000 r-xp 00000000 08:02 456 " +
           venv + "/torch/lib/librocblas.so\n",
       "rocm-version-mismatch"},
      {"python3 4242 u mem REG 8,2 123 /usr/lib/libhsa-runtime64.so.1.15\n"
       "python3 4242 u mem REG 8,2 456 /opt/rocm/lib/libhsa-runtime64.so.1\n",
       "rocm-version-mismatch"},
      {"0x00007ffff0000000  0x00007ffff0100000  Yes  /opt/rocm/lib/libMIOpen.so.1\n"
       "0x00007fffe0000000  0x00007fffe0100000  Yes  " +
           venv + "/torch/lib/libMIOpen.so\n",
       "rocm-version-mismatch"}};
  expect(forms);
  // A link and what it leads to are one folder, and another library is another matter.
  EXPECT_NE(diagnose("  1: calling init: /opt/rocm/lib/libamd_smi.so\n"
                     "  1: calling init: /opt/rocm-7.2.0/lib/libamd_smi.so.26\n"
                     "  1: calling init: /usr/lib/libhsa-runtime64.so.1\n",
                     amd)
                .cause.id,
            "rocm-version-mismatch");
}

TEST(ListedParts, firmware_under_updates_hides_the_distributions) {
  const std::string hang =
      "[ 8120.553310] amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=SUSPEND\n";
  for (const std::string_view shown :
       {"amdgpu-dkms-firmware: /lib/firmware/updates/amdgpu/gc_11_5_1_mes_2.bin\n",
        "-rw-r--r-- 1 root root 180000 Oct  1 2025 "
        "/lib/firmware/updates/amdgpu/gc_11_5_1_mes1.bin\n",
        "ii  amdgpu-dkms-firmware  30.10.2.0.30100200  all  firmware blobs used by amdgpu driver\n",
        "amdgpu-dkms-firmware/noble,now 30.10.2 all [installed]\n",
        "amdgpu-dkms-firmware-30.10.2-1.noarch\n"}) {
    const auto found = diagnose(hang + std::string(shown), amd);
    EXPECT_EQ(found.cause.id, "firmware-bad") << shown;
  }
  EXPECT_NE(diagnose("ii  amdgpu-dkms-firmware  30.10.2  all  firmware blobs\n", amd).cause.id,
            "firmware-bad");
}

}  // namespace
}  // namespace headroom::findings
