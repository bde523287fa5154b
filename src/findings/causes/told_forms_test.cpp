// SPDX-License-Identifier: Apache-2.0
// Causes as people tell them, in their own words and in the forms that programs print beside the
// usual one. Each row is the whole of what is known.
#include <gmock/gmock.h>

#include "findings/causes/testing.h"

namespace headroom::findings {
namespace {

using testing::diagnose;

struct Told {
  std::string_view log, stated, cause;
};

constexpr std::string_view amd = R"({"vendor": "AMD"})";

void expect_causes(std::initializer_list<Told> rows) {
  for (const Told& one : rows) {
    const auto got = diagnose(one.log, one.stated);
    EXPECT_EQ(got.cause.id, one.cause) << one.log;
    EXPECT_LT(got.cause.confidence, 0.95) << one.log;
  }
}

TEST(ToldForms, remarks_name_a_cause_that_no_line_proves) {
  expect_causes({
      {"The container is killed by Kubernetes when memory crosses the pod's limit.\n", amd,
       "cgroup-memory-limit"},
      {"It seems to use the iGPU as well as the card.\n"
       "RuntimeError: HIP error: unspecified launch failure\n",
       R"({"vendor": "AMD", "gpu": "RX 9070 XT"})", "igpu-selected"},
      {"The worker crashes and restarts again and again.\nSegmentation fault (core dumped)\n", amd,
       "crash-loop"},
      {"It ends in an abort with xnack on. It does not happen with xnack off.\nAborted (core "
       "dumped)\n",
       R"({"vendor": "AMD", "gfx": "gfx90a"})", "managed-memory"},
      {"Integrated graphics off in the BIOS: the card is flawless. Both on: nothing works.\n", amd,
       "igpu-selected"},
      {"PS D:\\> python -c \"import torch; print(torch.cuda.is_available())\"\nFalse\n"
       "DDU in safe mode, 25.12.1 back on, and it works.\n",
       R"({"vendor": "AMD", "gpu": "RX 6800 XT", "distro": "Windows 11"})", "rocm-regression"},
      {"jaxlib.xla_extension.XlaRuntimeError: INTERNAL: unable to find ld.lld in PATH: No such "
       "file "
       "or directory\n",
       amd, "missing-library"},
      {"GPU memory stays taken after the wrapper ended, nothing in ps.\n", amd, "vram-orphaned"},
      {"hipMemGetInfo() returns 122880 MiB, MemAvailable in /proc/meminfo is 91 GiB\n",
       R"({"vendor": "AMD", "gfx": "gfx1151"})", "free-memory-misreported"},
  });
}

TEST(ToldForms, rccl_goes_on_without_its_plugins_and_a_later_run_is_another) {
  constexpr std::string_view warning =
      "h:1:1 [0] NCCL INFO NET/Plugin : Plugin load (librccl-net.so) returned 2 : librccl-net.so: "
      "cannot open shared object file: No such file or directory\n"
      "h:1:1 [0] init.cc:132 NCCL WARN Missing \"iommu=pt\" from kernel command line which can "
      "lead to system instablity or hang!\n";
  const std::string hang = std::string(warning) + "hangs, also with DDP\n";
  const std::string control = hang + "NCCL_P2P_DISABLE=1 python train.py\n";
  expect_causes({{hang, amd, "rccl-p2p"}, {control, amd, "rccl-p2p"}});
}

TEST(ToldForms, builds_are_told_by_their_version_alone) {
  expect_causes({
      {">>> torch.__version__\n'2.3.0+cpu'\n>>> torch.cuda.is_available()\nFalse\n", amd,
       "wrong-wheel"},
      {"WARNING: jax 0.4.31 does not provide the extra 'rocm'\n", amd, "backend-unavailable"},
  });
}

TEST(ToldForms, errors_of_a_program_are_told_from_those_of_the_gpu) {
  expect_causes({
      {"RuntimeError: expected scalar type Half but found Float\n", amd, "app-bug"},
      {"AttributeError: module 'torch.version' has no attribute 'rocm'\n", amd, "app-bug"},
      {"  what():  boost::filesystem::permissions: No such file or directory: "
       "\"/srv/job/.config/miopen//gfx906_60.HIP.2_11_0.ufdb.txt\"\n",
       amd, "miopen-db"},
  });
}

// Every build has the files of gfx1030; those of the chip's graphics no build has.
TEST(ToldForms, a_file_of_rocblas_that_cannot_be_loaded_is_judged_by_its_target) {
  constexpr std::string_view form =
      "rocBLAS error: Could not load /opt/rocm-6.0.0/lib/rocblas/library/"
      "TensileLibrary_lazy_gfx1030.dat\nrocBLAS error: Could not initialize Tensile library\n";
  const auto got = diagnose(form, amd);
  EXPECT_LE(testing::confidence_of(got, "gfx-target-missing"), 0.3);
  const std::string graphics = "rocBLAS error: Could not load TensileLibrary_lazy_gfx1036.dat\n";
  EXPECT_GE(testing::confidence_of(diagnose(graphics, amd), "gfx-target-missing"), 0.5);
}

TEST(ToldForms, both_masks_count_one_behind_the_other) {
  expect_causes(
      {{"$ export ROCR_VISIBLE_DEVICES=1\n$ export HIP_VISIBLE_DEVICES=1\n$ python\n"
        ">>> torch.cuda.is_available()\nFalse\n",
        amd, "device-index"}});
}

}  // namespace
}  // namespace headroom::findings
