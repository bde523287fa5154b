// SPDX-License-Identifier: Apache-2.0
// Causes in the software beside the GPU's code: libraries, wheels, Python packages, the program.
#include <gmock/gmock.h>

#include "findings/causes/libraries.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view amd = R"({"vendor": "AMD", "gfx": "gfx1100"})";

TEST(Libraries, the_number_of_a_library_tells_its_release) {
  EXPECT_EQ(rocm_major_of_library("libamdhip64.so.6"), 6U);
  EXPECT_EQ(rocm_major_of_library("librocblas.so.5"), 7U);
  EXPECT_FALSE(rocm_major_of_library("libMIOpen.so.1"));
  EXPECT_FALSE(rocm_major_of_library("libamdhip64.so"));
  EXPECT_TRUE(is_library_of_cuda("libcublasLt.so.12"));
  EXPECT_FALSE(is_library_of_cuda("librccl.so.1"));
}

TEST(RocmVersionMismatch, a_library_of_another_release_than_the_one_there) {
  const LogDiagnosis diagnosis = diagnose(
      "ImportError: libhipblas.so.2: cannot open shared object file: No such file or directory\n",
      R"({"vendor": "AMD", "rocm": "7.0.2"})");
  EXPECT_EQ(diagnosis.cause.id, "rocm-version-mismatch");
  EXPECT_GE(diagnosis.cause.confidence, 0.85);
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("7.0.2"));
}

TEST(RocmVersionMismatch, a_missing_version_of_symbols_says_it_too) {
  const LogDiagnosis diagnosis = diagnose(
      "./main: /opt/rocm/lib/libamdhip64.so.6: version `hip_6.3' not found (required by ./main)\n");
  EXPECT_EQ(diagnosis.cause.id, "rocm-version-mismatch");
}

TEST(MissingLibrary, the_right_release_that_is_not_found) {
  const LogDiagnosis diagnosis = diagnose(
      "ImportError: libhipblas.so.2: cannot open shared object file: No such file or directory\n",
      R"({"vendor": "AMD", "rocm": "6.2.4"})");
  EXPECT_EQ(diagnosis.cause.id, "missing-library");
}

TEST(MissingLibrary, a_loader_names_what_it_lacks) {
  const LogDiagnosis diagnosis = diagnose(
      "rocminfo: error while loading shared libraries: libnuma.so.1: cannot open shared object "
      "file: No such file or directory\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "missing-library");
  EXPECT_THAT(diagnosis.cause.fix.back().whole(), HasSubstr("libnuma1"));
}

TEST(MissingLibrary, a_module_that_is_not_installed) {
  const LogDiagnosis known = diagnose("ModuleNotFoundError: No module named 'flash_attn'\n", amd);
  EXPECT_EQ(known.cause.id, "missing-library");
  EXPECT_GE(known.cause.confidence, 0.8);
  const LogDiagnosis own = diagnose("ModuleNotFoundError: No module named 'my_loader'\n", amd);
  EXPECT_LE(confidence_of(own, "missing-library"), 0.5);
}

TEST(MissingLibrary, a_module_that_the_program_does_without) {
  const LogDiagnosis diagnosis = diagnose(
      "ModuleNotFoundError: No module named 'triton'\nTraceback ends\nloading the model\n"
      "RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "unsupported-option");
}

TEST(MissingLibrary, compilers_and_headers_are_packages_of_their_own) {
  EXPECT_EQ(diagnose("clang++: error: cannot find ROCm device library; provide its path via "
                     "'--rocm-path' or '--rocm-device-lib-path'\n",
                     amd)
                .cause.id,
            "missing-library");
  EXPECT_EQ(
      diagnose("src/a.h:3:10: fatal error: 'hip/hip_runtime.h' file not found\n", amd).cause.id,
      "missing-library");
}

TEST(WrongWheel, a_library_of_the_rocm_build_that_torch_lacks) {
  EXPECT_EQ(diagnose("OSError: libc10_hip.so: cannot open shared object file: No such file or "
                     "directory\n",
                     amd)
                .cause.id,
            "wrong-wheel");
}

TEST(WrongWheel, a_build_for_cuda_says_so_itself) {
  const LogDiagnosis diagnosis = diagnose(
      ">>> torch.__version__\n'2.5.1+cu124'\ntorch 2.5.1+cu124\n"
      "RuntimeError: Found no NVIDIA driver on your system.\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "wrong-wheel");
  EXPECT_GE(diagnosis.cause.confidence, 0.9);
}

TEST(WrongWheel, a_build_for_the_cpu_refuses_the_gpu) {
  const LogDiagnosis diagnosis =
      diagnose("AssertionError: Torch not compiled with CUDA enabled\n", amd);
  EXPECT_EQ(diagnosis.cause.id, "wrong-wheel");
  const LogDiagnosis anybody = diagnose("AssertionError: Torch not compiled with CUDA enabled\n");
  EXPECT_LE(confidence_of(anybody, "wrong-wheel"), 0.5);
}

TEST(WrongWheel, a_package_beside_the_rocm_build) {
  const LogDiagnosis diagnosis = diagnose(
      "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n",
      R"({"vendor": "AMD", "framework": "torch 2.6.0+rocm6.2.4, flash-attn"})");
  EXPECT_EQ(diagnosis.cause.id, "wrong-wheel");
  EXPECT_THAT(diagnosis.cause.title, HasSubstr("Beside the ROCm build"));
}

TEST(WrongWheel, a_program_that_tries_every_vendor_is_not_one) {
  const LogDiagnosis diagnosis = diagnose(
      "time=2025-01-01T00:00:00Z level=INFO source=gpu.go:612 msg=\"Unable to load cudart\" "
      "error=\"libcuda.so.1: cannot open shared object file: No such file or directory\"\n",
      amd);
  EXPECT_NE(diagnosis.cause.id, "wrong-wheel");
  EXPECT_NE(diagnosis.cause.id, "missing-library");
}

TEST(UnsupportedOption, hipblaslt_that_is_forced_fails_and_that_falls_back_does_not) {
  const LogDiagnosis forced =
      diagnose("RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!\n",
               R"({"vendor": "AMD", "gfx": "gfx908"})");
  EXPECT_EQ(forced.cause.id, "unsupported-option");
  const LogDiagnosis warned = diagnose(
      "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas "
      "backend to hipblas\n",
      R"({"vendor": "AMD", "gfx": "gfx908"})");
  EXPECT_EQ(warned.cause.id, "none");
}

TEST(UnsupportedOption, an_option_that_the_allocator_does_not_know) {
  const LogDiagnosis diagnosis =
      diagnose("RuntimeError: Unrecognized CachingAllocator option: expandable_segments\n", amd);
  EXPECT_EQ(diagnosis.cause.id, "unsupported-option");
}

TEST(TorchaoIncompatible, it_needs_names_that_torch_lacks_on_any_vendors_gpu) {
  const std::string_view nvidia = R"({"vendor": "NVIDIA"})";
  EXPECT_EQ(diagnose("AttributeError: module 'torch' has no attribute 'uint3'\n", nvidia).cause.id,
            "torchao-incompatible");
  EXPECT_EQ(diagnose("ImportError: cannot import name 'int4_weight_only' from "
                     "'torchao.quantization' (/v/torchao/quantization/__init__.py)\n",
                     nvidia)
                .cause.id,
            "torchao-incompatible");
  EXPECT_NE(diagnose("AttributeError: module 'torch' has no attribute 'foo'\n", amd).cause.id,
            "torchao-incompatible");
}

TEST(PythonVersion, no_wheel_for_a_python_that_is_too_new) {
  const LogDiagnosis diagnosis = diagnose(
      "Looking in indexes: https://download.pytorch.org/whl/rocm6.1\n"
      "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\n"
      "ERROR: No matching distribution found for torch\n",
      R"({"vendor": "AMD", "python": "3.13.1"})");
  EXPECT_EQ(diagnosis.cause.id, "python-version-unsupported");
  EXPECT_THAT(diagnosis.cause.fix.front().whole(), HasSubstr("--python 3.12"));
  const LogDiagnosis fits = diagnose(
      "Looking in indexes: https://download.pytorch.org/whl/rocm6.1\n"
      "ERROR: Could not find a version that satisfies the requirement torch (from versions: "
      "none)\n",
      R"({"vendor": "AMD", "python": "3.11.4"})");
  EXPECT_LE(confidence_of(fits, "python-version-unsupported"), 0.4);
}

TEST(PythonVersion, a_wheel_for_another_python) {
  const LogDiagnosis diagnosis = diagnose(
      "ERROR: torch-2.6.0+rocm6.4.2-cp312-cp312-linux_x86_64.whl is not a supported wheel on this "
      "platform.\n",
      R"({"vendor": "AMD", "python": "3.13.2"})");
  EXPECT_EQ(diagnosis.cause.id, "python-version-unsupported");
  EXPECT_GE(diagnosis.cause.confidence, 0.9);
}

TEST(Bitsandbytes, its_library_is_not_the_systems) {
  const LogDiagnosis missing = diagnose(
      "bitsandbytes library load error: Configured ROCm binary not found at "
      "/v/bitsandbytes/libbitsandbytes_rocm80.so\n",
      amd);
  EXPECT_EQ(missing.cause.id, "bitsandbytes-no-rocm");
  const LogDiagnosis cpu =
      diagnose("The installed version of bitsandbytes was compiled without GPU support.\n", amd);
  EXPECT_EQ(cpu.cause.id, "bitsandbytes-no-rocm");
  const LogDiagnosis symbol = diagnose(
      "OSError: /v/bitsandbytes/libbitsandbytes_rocm63.so: undefined symbol: hipblasLtCreate\n",
      amd);
  EXPECT_EQ(symbol.cause.id, "bitsandbytes-no-rocm");
}

TEST(MiopenDb, a_cache_that_cannot_be_written) {
  const LogDiagnosis denied = diagnose(
      "MIOpen Error: filesystem error: cannot create directories: Read-only file system "
      "[/srv/.cache/miopen]\nRuntimeError: miopenStatusInternalError\n",
      amd);
  EXPECT_EQ(denied.cause.id, "miopen-db");
  EXPECT_GE(denied.cause.confidence, 0.9);
  const LogDiagnosis locks = diagnose(
      "MIOpen(HIP): Error [Open] sqlite_db.cpp:212: Internal error while accessing SQLite "
      "database: disk I/O error\n",
      amd);
  EXPECT_EQ(locks.cause.id, "miopen-db");
  EXPECT_THAT(locks.cause.reasons.front(), HasSubstr("network"));
}

TEST(MiopenDb, missing_tuning_is_harmless) {
  const LogDiagnosis diagnosis = diagnose(
      "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_30.kdb Performance "
      "may degrade.\n",
      amd);
  EXPECT_EQ(diagnosis.cause.id, "none");
}

TEST(DiskFull, shared_memory_and_watches_are_other_limits) {
  EXPECT_EQ(diagnose("OSError: [Errno 122] Disk quota exceeded: '/srv/job/x'\n").cause.id,
            "disk-full");
  EXPECT_NE(diagnose("Error: failed to extend /dev/shm/nccl-x to 9637892 bytes, No space left on "
                     "device\n",
                     amd)
                .cause.id,
            "disk-full");
}

TEST(AppBug, the_innermost_frame_tells_whose_code_it_is) {
  const LogDiagnosis own = diagnose(
      "Traceback (most recent call last):\n  File \"/srv/job/train.py\", line 12, in main\n"
      "    cfg['lr']\nKeyError: 'lr'\n",
      amd);
  EXPECT_EQ(own.cause.id, "app-bug");
  const LogDiagnosis library = diagnose(
      "Traceback (most recent call last):\n  File \"/srv/job/train.py\", line 12, in main\n"
      "  File \"/v/lib/python3.11/site-packages/accelerate/state.py\", line 9, in f\n"
      "KeyError: 'lr'\n",
      amd);
  EXPECT_LT(confidence_of(library, "app-bug"), own.cause.confidence);
}

TEST(AppBug, an_exception_that_speaks_of_the_gpu_is_less_likely_a_slip) {
  const LogDiagnosis memory =
      diagnose("ValueError: Free memory on device cuda:0 is less than desired\n", amd);
  const LogDiagnosis plain = diagnose("ValueError: too many values to unpack\n", amd);
  EXPECT_LT(confidence_of(memory, "app-bug"), 0.35);
  EXPECT_EQ(plain.cause.id, "app-bug");
}

TEST(AppBug, shapes_and_missing_models_are_the_programs) {
  EXPECT_EQ(
      diagnose("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x768 and 512x10)\n", amd)
          .cause.id,
      "app-bug");
  EXPECT_EQ(diagnose("requests.exceptions.HTTPError: 404 Client Error: Not Found for url: "
                     "https://huggingface.co/x/y\n",
                     amd)
                .cause.id,
            "app-bug");
}

TEST(Bitsandbytes, a_later_call_into_the_missing_library_shows_that_it_is_needed) {
  const std::string load =
      "bitsandbytes library load error: Configured ROCm binary not found at "
      "/v/bitsandbytes/libbitsandbytes_rocm84.so\n";
  const std::string call = "RuntimeError: \n🚨 Forgot to compile the bitsandbytes library? 🚨\n";
  const std::string work = "100%|####| 2/2 [00:04<00:00,  2.11s/it]\n";
  EXPECT_EQ(diagnose(load + work, amd).cause.id, "none");
  EXPECT_EQ(diagnose(load + work + call, amd).cause.id, "bitsandbytes-no-rocm");
}

TEST(RocmVersionMismatch, a_function_of_hip_under_its_cpp_name_is_one_of_rocms) {
  const std::string start = "ImportError: /v/cupy/runtime.cpython-38-x86_64-linux-gnu.so: ";
  const auto found = [&](std::string_view symbol) {
    return diagnose(start + "undefined symbol: " + std::string(symbol) + "\n", amd).cause.id;
  };
  EXPECT_EQ(found("_Z22hipCreateSurfaceObjectPyPK15hipResourceDesc, version hip_4.2"),
            "rocm-version-mismatch");
  EXPECT_EQ(found("_Z12hipMallocAnyPPvm"), "rocm-version-mismatch");
  EXPECT_NE(found("_Z9chipCountv"), "rocm-version-mismatch");
}

TEST(RocmVersionMismatch, a_linker_that_lacks_a_version_of_symbols_took_an_older_library) {
  const auto found = diagnose(
      "/usr/bin/ld: /opt/dist/lib/libamdhip64.so.6: undefined reference to "
      "`hsa_amd_vmem_map@ROCR_1'\ncollect2: error: ld returned 1 exit status\n",
      amd);
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
  EXPECT_NE(found.cause.title.find("ROCR_1"), std::string::npos);
}

}  // namespace
}  // namespace headroom::findings
