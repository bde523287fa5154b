// SPDX-License-Identifier: Apache-2.0
// What the cause rules advise, held against what the rest of the program knows: a setting that the
// audit calls useless must not be recommended, and a command must be able to show what it is for.
#include <gmock/gmock.h>
#include <re2/re2.h>

#include "base/text.h"
#include "facts/environment.h"
#include "findings/causes/causes.h"
#include "findings/causes/testing.h"
#include "findings/knob_audit.h"

namespace headroom::findings {
namespace {

using ::testing::AllOf;
using testing::diagnose;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::tables;

constexpr std::string_view fragmented =
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
    "capacity of 19.98 GiB of which 300.00 MiB is free. Of the allocated memory 11.60 GiB is "
    "allocated by PyTorch, and 7.50 GiB is reserved by PyTorch but unallocated.\n";
constexpr std::string_view too_big =
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total "
    "capacity of 15.98 GiB of which 420.00 MiB is free. Of the allocated memory 14.60 GiB is "
    "allocated by PyTorch, and 190.10 MiB is reserved by PyTorch but unallocated.\n";

std::string steps_of(const LogDiagnosis& diagnosis) {
  return join(texts_of(diagnosis.cause.fix), "\n");
}

std::string telltale_of(const LogDiagnosis& diagnosis, std::string_view id) {
  for (const Alternative& one : diagnosis.runners_up) {
    if (one.id == id) return one.would_tell;
  }
  return "";
}

TEST(Advice, no_setting_is_recommended_that_the_audit_would_have_dropped) {
  for (const std::string_view log :
       {fragmented,
        std::string_view("UserWarning: expandable_segments not supported on this platform\n")}) {
    const auto diagnosis = diagnose(log, R"({"vendor": "AMD", "gfx": "gfx1100"})");
    int checked = 0;
    for (const Step& step : diagnosis.cause.fix) {
      re2::StringPiece text(step.text);
      std::string setting;
      while (RE2::FindAndConsume(&text, R"(export ([A-Z_]+=\S+))", &setting)) {
        const facts::Text snippet("export " + setting, facts::Source{"advice", 0, ""});
        const auto judged =
            audit_knobs(facts::parse_snippet(snippet, facts::Scope::given, {}), {}, tables().gpus);
        for (const Judgement& one : judged) {
          EXPECT_TRUE(one.verdict == KnobVerdict::keep || one.verdict == KnobVerdict::deprecated)
              << setting << ": " << one.name << " " << to_string(one.verdict) << ", " << one.why;
          ++checked;
        }
      }
    }
    EXPECT_GE(checked, 2) << steps_of(diagnosis);
  }
}

TEST(Advice, a_cache_is_shown_by_the_process_that_has_it) {
  const std::string torch = telltale_of(diagnose(too_big), "fragmentation");
  EXPECT_THAT(torch, AllOf(HasSubstr("in the job"), HasSubstr("torch.cuda.memory_summary()")));
  EXPECT_THAT(torch, Not(HasSubstr("python -c")));
  const auto tensorflow = diagnose(
      "2024-05-02 10:00:00.000000: W tensorflow/core/common_runtime/bfc_allocator.cc:491] "
      "Allocator "
      "(GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested "
      "by "
      "op MatMul\n"
      "I tensorflow/core/common_runtime/bfc_allocator.cc:1101] Stats: \nLimit:                     "
      "16000000000\nInUse:                     15500000000\n");
  ASSERT_EQ(tensorflow.cause.id, "job-too-big");
  EXPECT_THAT(telltale_of(tensorflow, "fragmentation"), Not(HasSubstr("torch")));
  const auto jax = diagnose(
      "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
      "allocate 2147483648 bytes.\n");
  EXPECT_THAT(telltale_of(jax, "fragmentation"),
              AllOf(HasSubstr("in the job"), HasSubstr("jax.profiler"), Not(HasSubstr("torch"))));
}

TEST(Advice, a_framework_is_not_told_another_ones_settings) {
  const auto diagnosis = diagnose(
      "2024-05-02 10:00:00.000000: W tensorflow/core/common_runtime/bfc_allocator.cc:491] "
      "Allocator "
      "(GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)requested "
      "by "
      "op MatMul\n"
      "I tensorflow/core/common_runtime/bfc_allocator.cc:1101] Stats: \nLimit:                     "
      "16000000000\nInUse:                      9000000000\n");
  ASSERT_EQ(diagnosis.cause.id, "fragmentation");
  EXPECT_THAT(steps_of(diagnosis), Not(HasSubstr("PYTORCH")));
}

TEST(Advice, torchao_is_kept_where_torchtune_imports_it) {
  const std::string error = "AttributeError: module 'torch' has no attribute 'int1'\n";
  const auto tuned = diagnose(
      "Traceback (most recent call last):\n"
      "  File \"/v/site-packages/torchtune/__init__.py\", line 24, in <module>\n"
      "    import torchao\n"
      "  File \"/v/site-packages/torchao/__init__.py\", line 30, in <module>\n" +
      error);
  ASSERT_EQ(tuned.cause.id, "torchao-incompatible");
  EXPECT_THAT(steps_of(tuned),
              AllOf(HasSubstr("torchtune imports it"), Not(HasSubstr("nothing here needs it"))));
  EXPECT_THAT(steps_of(diagnose(error)), HasSubstr("pip uninstall torchao"));
}

TEST(Advice, an_override_brings_about_no_change_of_what_a_release_carries) {
  const auto diagnosis = diagnose(
      "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
      "Memory access fault by GPU node-1 (Agent handle: 0x55) on address (nil). Reason: Unknown.\n"
      "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!\n",
      R"({"gfx": "gfx906", "framework": "torch 2.5.1+rocm6.2"})");
  ASSERT_EQ(diagnosis.cause.id, "gfx-override-wrong");
  for (const Consequence& one : diagnosis.consequences) EXPECT_NE(one.id, "gfx-target-dropped");
  EXPECT_GT(testing::confidence_of(diagnosis, "gfx-target-dropped"), 0);
}

TEST(Advice, a_build_for_rocm_that_pypi_lacks_needs_its_index_and_no_other_python) {
  const auto diagnosis = diagnose(
      "ERROR: Could not find a version that satisfies the requirement torch==2.9.1+rocm7.1 (from "
      "versions: 2.2.0, 2.8.0, 2.9.0, 2.9.1)\n"
      "ERROR: No matching distribution found for torch==2.9.1+rocm7.1\n",
      R"({"vendor": "AMD", "python": "3.12.3"})");
  EXPECT_EQ(diagnosis.cause.id, "wrong-wheel");
  EXPECT_THAT(steps_of(diagnosis),
              AllOf(HasSubstr("--index-url https://download.pytorch.org/whl/rocm7.1"),
                    Not(HasSubstr("uv venv"))));
}

TEST(Advice, a_name_of_libdrm_that_only_tools_open_ends_no_job) {
  const std::string line =
      "Fail to open libdrm_amdgpu.so: libdrm_amdgpu.so: cannot open shared object file: No such "
      "file or directory\n";
  const auto alone = diagnose(line, R"({"vendor": "AMD"})");
  EXPECT_EQ(alone.cause.id, "missing-library");
  EXPECT_LE(alone.cause.confidence, 0.6);
  EXPECT_THAT(steps_of(alone), HasSubstr("headroom fix missing-library"));
  for (const std::string& reason : alone.cause.reasons) {
    EXPECT_THAT(reason, Not(HasSubstr("before it reaches the GPU")));
  }
  EXPECT_EQ(diagnose(line + std::string(too_big)).cause.id, "job-too-big");
}

}  // namespace
}  // namespace headroom::findings
