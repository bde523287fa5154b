// SPDX-License-Identifier: Apache-2.0
// The messages by which programs commonly tell the failures of memory, of waiting for each other,
// of heat and of their own files: one row for each form, as the program prints it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::confidence_of;
using testing::diagnose;

constexpr std::string_view amd = R"({"vendor": "AMD"})";

struct Form {
  std::string_view line, cause;
};

void expect_all(std::span<const Form> forms) {
  for (const Form& form : forms) {
    const auto found = diagnose(std::string(form.line) + "\n", amd);
    EXPECT_EQ(found.cause.id, form.cause) << form.line;
    EXPECT_LE(found.cause.confidence, 0.8) << form.line;
  }
}

TEST(KnownForms, of_ranks_that_wait_for_each_other) {
  constexpr Form forms[] = {
      {"[PG 0 Rank 0] Received a timeout signal from this local rank and will start to dump the "
       "debug info. Last enqueued NCCL work: 2, last completed NCCL work: 1.",
       "collective-hang"},
      {"[PG ID 0 Rank 2] Received a dump signal due to a collective timeout from  rank 6 and we "
       "will try our best to dump the debug info.",
       "collective-hang"},
      {"[shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.",
       "collective-hang"},
      {"torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while "
       "trying to connect to (10.0.0.1, 29500).",
       "collective-hang"},
      {"torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 "
       "clients joined.",
       "collective-hang"},
  };
  expect_all(forms);
}

TEST(KnownForms, of_waiting_are_none_if_work_follows) {
  EXPECT_LT(confidence_of(diagnose("No available shared memory broadcast block found in 60 "
                                   "seconds.\nINFO:     Application startup complete.\n",
                                   amd),
                          "collective-hang"),
            0.3);
}

TEST(KnownForms, of_a_gpu_that_is_too_hot) {
  constexpr Form forms[] = {
      {"amdgpu 0000:03:00.0: amdgpu: ERROR: GPU over temperature range(SW CTF) detected!",
       "hw-error"},
      {"amdgpu 0000:03:00.0: amdgpu: ERROR: System is going to shutdown due to GPU SW CTF!",
       "hw-error"},
      {"amdgpu 0000:03:00.0: amdgpu: ERROR: GPU HW Critical Temperature Fault(aka CTF) detected!",
       "hw-error"},
      {"amdgpu: [powerplay] GPU over temperature range detected on PCIe 0:0.0!", "hw-error"},
  };
  expect_all(forms);
  EXPECT_NE(diagnose("GPU[0] : Temperature (Sensor junction) (C): 71.0\n", amd).cause.id,
            "hw-error");
}

TEST(KnownForms, of_ram_that_ran_out) {
  constexpr Form forms[] = {
      {"systemd-oomd[900]: Killed /user.slice/app.scope due to memory used (62G) / total (64G) and "
       "swap used (8G) / total (8G) being more than 90.00%",
       "job-too-big"},
      {"earlyoom[700]: sending SIGTERM to process 4127 uid 1000 \"python3\": badness 900",
       "job-too-big"},
      {"The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi.",
       "cgroup-memory-limit"},
  };
  expect_all(forms);
}

TEST(KnownForms, of_a_programs_files_ports_and_packages) {
  constexpr Form forms[] = {
      {"Error: listen tcp 127.0.0.1:11434: bind: address already in use", "app-bug"},
      {"OSError: [Errno 98] Address already in use", "app-bug"},
      {"Bind for 0.0.0.0:8000 failed: port is already allocated", "app-bug"},
      {"llama_model_load: error loading model: unknown model architecture: 'gemma3n'", "app-bug"},
      {"llama_model_load: error loading model: tensor 'blk.0.attn_q.weight' data is not within the "
       "file bounds, model is corrupted or incomplete",
       "app-bug"},
      {"safetensors_rust.SafetensorError: Error while deserializing header: "
       "MetadataIncompleteBuffer",
       "app-bug"},
      {"RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
       "directory",
       "app-bug"},
      {"_pickle.UnpicklingError: invalid load key, '<'.", "app-bug"},
      {"ImportError: cannot import name 'LlamaFlashAttention2' from "
       "'transformers.models.llama.modeling_llama' (/v/modeling_llama.py)",
       "app-bug"},
  };
  expect_all(forms);
  EXPECT_NE(
      diagnose("ImportError: cannot import name 'foo' from 'torch._C' (/v/_C.so)\n", amd).cause.id,
      "app-bug");
}

TEST(KnownForms, of_a_gpu_whose_memory_is_read_as_nothing) {
  const std::string start =
      "level=INFO source=types.go:32 msg=\"inference compute\" id=0 library=ROCm compute=gfx1200 "
      "name=ROCm0 type=discrete ";
  EXPECT_EQ(diagnose(start + "total=\"0 B\" available=\"0 B\"\n", amd).cause.id,
            "free-memory-misreported");
  EXPECT_NE(diagnose(start + "total=\"15.9 GiB\" available=\"15.7 GiB\"\n", amd).cause.id,
            "free-memory-misreported");
}

TEST(KnownForms, the_digits_of_a_library_name_the_release_that_it_was_built_for) {
  const std::string died = "Fatal Python error: Segmentation fault\n";
  const auto of = [&](std::string_view library) {
    return testing::diagnose(
               fmt::format("PyTorch: 2.6.0+rocm6.1\nbitsandbytes: loading {}\n{}", library, died),
               R"({"vendor": "AMD", "framework": "torch 2.6.0+rocm6.1"})")
        .cause.id;
  };
  EXPECT_EQ(of("libbitsandbytes_rocm64.so"), "rocm-version-mismatch");
  EXPECT_NE(of("libbitsandbytes_rocm61.so"), "rocm-version-mismatch");
}

TEST(KnownForms, the_integrated_gpu_that_is_listed_alone_takes_the_cards_place) {
  const auto of = [](std::string_view target) {
    return testing::diagnose(
               fmt::format(
                   "PS C:\\> & 'C:\\Program Files\\AMD\\ROCm\\6.1\\bin\\amdgpu-arch.exe'\n{}\n"
                   "PS C:\\>\nNothing works with the GPU, a RX 6800 XT.\n",
                   target),
               R"({"vendor": "AMD", "gpu": "Radeon RX 6800 XT"})")
        .cause.id;
  };
  EXPECT_EQ(of("gfx1036"), "igpu-selected");
  EXPECT_NE(of("gfx1030"), "igpu-selected");
}

TEST(KnownForms, a_tool_that_compares_group_numbers_tells_of_rights) {
  EXPECT_EQ(testing::diagnose("XX  GPU passthrough is broken: the render device is visible but its "
                              "gid does not map to the render group in this container\n",
                              amd)
                .cause.id,
            "device-permission");
}

TEST(KnownForms, a_wrapper_of_torchao_fails_to_import_it) {
  EXPECT_EQ(testing::diagnose(
                "Traceback (most recent call last):\n"
                "  File \"/venv/lib/site-packages/transformers/quantizers/quantizer_torchao.py\", "
                "line 42, "
                "in <module>\n    import torchao\n"
                "  File \"/venv/lib/site-packages/torch/_ops.py\", line 1379, in __getattr__\n"
                "AttributeError: '_OpNamespace' '_c10d_functional' object has no attribute "
                "'all_gather_into_tensor'\n",
                R"({"vendor": "AMD"})")
                .cause.id,
            "torchao-incompatible");
}

}  // namespace
}  // namespace headroom::findings
