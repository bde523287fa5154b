// SPDX-License-Identifier: Apache-2.0
// Parts that a program or a package brings along: its own ROCm runtime, its bindings for one
// Python, its functions, the index that it was installed from.
#include <gmock/gmock.h>

#include "findings/causes/causes.h"
#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;
using ::testing::HasSubstr;

constexpr std::string_view card =
    R"({"vendor": "AMD", "gpu": "Radeon RX 7800 XT", "gfx": "gfx1101"})";

TEST(BundledRuntime, where_the_systems_serves_the_two_do_not_fit) {
  const std::string fails =
      "E ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n"
      "The AppImage comes with libhsa-runtime64.so.1.18 and libamdhip64.so.7 of its own.\n";
  const auto found = diagnose(
      fails + "With LD_LIBRARY_PATH=/opt/rocm/lib the GPU is found and the model is offloaded.\n",
      card);
  EXPECT_EQ(found.cause.id, "rocm-version-mismatch");
  EXPECT_THAT(found.cause.title, HasSubstr("brings along"));
  const auto also = diagnose(fails + "With LD_LIBRARY_PATH=/opt/rocm/lib still no device.\n", card);
  EXPECT_NE(also.cause.id, "rocm-version-mismatch");
}

TEST(BundledRuntime, where_an_older_build_served_its_rocm_was_exchanged) {
  const std::string died =
      "SIGSEGV in the packaged libamdhip64.so.7 before the first device is listed\n";
  const auto found = diagnose("Last known good build: b1287\n" + died, card);
  EXPECT_EQ(found.cause.id, "rocm-regression");
  EXPECT_NE(diagnose(died, card).cause.id, "rocm-regression");
}

TEST(PythonBinding, a_compiled_part_for_another_python_leaves_an_empty_module) {
  const std::string error = "AttributeError: module 'migraphx' has no attribute 'parse_onnx'\n";
  const std::string python = R"({"vendor": "AMD", "python": "3.12.4"})";
  const auto found =
      diagnose(error + "$ ls /opt/rocm/lib\nlibmigraphx_py.so libmigraphx_py_3.10.so\n", python);
  EXPECT_EQ(found.cause.id, "python-version-unsupported");
  const auto tagged = diagnose(
      "ImportError: cannot import name 'ops' from 'aiter_ext' (unknown location)\n"
      "aiter_ext.cpython-310-x86_64-linux-gnu.so\n",
      python);
  EXPECT_EQ(tagged.cause.id, "python-version-unsupported");
  const auto fits = diagnose(error + "libmigraphx_py_3.10.so\nlibmigraphx_py_3.12.so\n", python);
  EXPECT_NE(fits.cause.id, "python-version-unsupported");
  const auto of_another = diagnose(error + "libvision_py_3.10.so\n", python);
  EXPECT_NE(of_another.cause.id, "python-version-unsupported");
}

TEST(OlderIndex, an_index_that_ended_before_the_release_is_no_question_of_python) {
  const auto found = diagnose(
      "$ pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/rocm6.0\n"
      "ERROR: Could not find a version that satisfies the requirement torch==2.6.0 (from versions: "
      "2.3.0+rocm6.0, 2.3.1+rocm6.0, 2.4.0+rocm6.0)\n"
      "ERROR: No matching distribution found for torch==2.6.0\n",
      card);
  EXPECT_EQ(found.cause.id, "wrong-wheel");
  EXPECT_THAT(found.cause.title, HasSubstr("ROCm 6.0"));
  EXPECT_LT(confidence_of(found, "python-version-unsupported"), 0.3);
}

TEST(OlderIndex, where_newer_releases_are_listed_it_says_nothing) {
  const auto found = diagnose(
      "ERROR: Could not find a version that satisfies the requirement torch==2.3.2 (from versions: "
      "2.3.1+rocm6.0, 2.4.0+rocm6.0)\n",
      card);
  EXPECT_LT(confidence_of(found, "wrong-wheel"), 0.6);
}

constexpr std::string_view operators =
    "WARNING [rocm.py:29] Failed to import from vllm._C with "
    "ImportError('/usr/lib/vllm/_C.abi3.so: "
    "undefined symbol: ";

TEST(OwnSymbol, a_function_for_nvidia_alone_was_left_in) {
  const auto found =
      diagnose(std::string(operators) + "_Z22cutlass_scaled_mm_sm90RN2at6TensorERKS0_')\n", card);
  EXPECT_EQ(found.cause.id, "framework-bug");
  EXPECT_THAT(found.cause.title, HasSubstr("_C.abi3.so"));
}

TEST(OwnSymbol, one_of_pytorchs_is_no_fault_of_the_extension) {
  const auto found = diagnose(std::string(operators) + "_ZN3c104cuda9SetDeviceEi')\n", card);
  EXPECT_NE(found.cause.id, "framework-bug");
}

}  // namespace
}  // namespace headroom::findings
