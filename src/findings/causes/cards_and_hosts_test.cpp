// SPDX-License-Identifier: Apache-2.0
// Reports in which it matters what was tried alone, what the tools list, and how much the whole
// machine has. Each has a neighbour in which the same words play another part.
#include <gtest/gtest.h>

#include <string>

#include "findings/causes/testing.h"

namespace headroom::findings::testing {
namespace {

constexpr std::string_view amd = R"({"vendor": "AMD", "gpu": "RX 7800 XT", "gfx": "gfx1101"})";

std::string cause_of(const std::string& log, std::string_view stated = amd) {
  return diagnose(log, stated).cause.id;
}

// ------------------------------------------------------------------ cards one by one

const std::string bus_error =
    "[  71.204] {1}[Hardware Error]: event severity: fatal\n"
    "[  71.205] {1}[Hardware Error]:   section_type: PCIe error\n"
    "[  71.311] [drm] PCI error: detected callback, state(2)!!\n"
    "[  79.002] amdgpu: qcm fence wait loop timeout expired\n";
constexpr std::string_view four = R"({"vendor": "AMD", "gpu": "4x Instinct MI50"})";

TEST(CardsOneByOne, cards_that_each_work_alone_are_not_broken) {
  for (const char* told : {"I swapped them around: each card works fine on its own.\n",
                           "If I disable any three of the cards, the same program runs.\n",
                           "Every one of the four GPUs alone passes the test for hours.\n"}) {
    EXPECT_EQ(cause_of(bus_error + told, four), "rccl-p2p") << told;
  }
}

TEST(CardsOneByOne, a_card_that_fails_alone_is_broken) {
  for (const char* told :
       {"", "Each of the other cards works fine on its own, this one does not.\n",
        "It is the third card. I bought all four cards used.\n"}) {
    const LogDiagnosis found = diagnose(bus_error + told, four);
    EXPECT_EQ(found.cause.id, "hw-error") << told;
    EXPECT_TRUE(found.cause.against.empty()) << told;
  }
}

TEST(CardsOneByOne, what_was_guessed_first_gives_way_to_what_was_tried) {
  const std::string guess = "I thought of a defective card at first.\n";
  EXPECT_EQ(cause_of(bus_error + guess + "Each card works fine on its own.\n", four), "rccl-p2p");
  EXPECT_EQ(cause_of(bus_error + guess + "It is still in there.\n", four), "hw-error");
}

TEST(PowerSupply, a_machine_that_loses_power_has_another_trouble_than_one_whose_gpu_hangs) {
  const std::string supply = "I have a 550W power supply.\n";
  const LogDiagnosis off =
      diagnose("As soon as it draws the picture the workstation loses power.\n" + supply, amd);
  EXPECT_EQ(off.cause.id, "hw-error");
  EXPECT_NE(off.cause.title.find("switches off"), std::string::npos) << off.cause.title;
  EXPECT_EQ(cause_of("[ 812.1] amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled "
                     "seq=1, emitted seq=3\n" +
                     supply),
            "gpu-hang");
}

// ------------------------------------------------------------------ whose release

TEST(WhoseRelease, hips_structures_lost_members_with_rocm_6) {
  EXPECT_EQ(cause_of("copy.cc:40:12: error: no member named 'memoryType' in "
                     "'hipPointerAttribute_t'\n"),
            "rocm-version-mismatch");
  EXPECT_NE(cause_of("copy.cc:40:12: error: no member named 'memoryKind' in 'my_attributes'\n"),
            "rocm-version-mismatch");
}

TEST(WhoseRelease, a_stream_is_not_refused_for_lack_of_memory) {
  const std::string seen =
      "msg=\"inference compute\" id=0 library=ROCm compute=gfx1151 driver=60342.13 type=iGPU "
      "total=\"96.0 GiB\" available=\"95.1 GiB\"\n"
      "ROCm error: out of memory\n";
  constexpr std::string_view newer = R"({"vendor": "AMD", "gfx": "gfx1151", "rocm": "7.1"})";
  constexpr std::string_view same = R"({"vendor": "AMD", "gfx": "gfx1151", "rocm": "6.3"})";
  const std::string stream = "  hipStreamCreateWithFlags(&streams[device][0], 0x01)\n";
  EXPECT_EQ(cause_of(seen + stream, newer), "rocm-version-mismatch");
  EXPECT_NE(cause_of(seen + stream, same), "rocm-version-mismatch");
  EXPECT_EQ(cause_of(seen + "  hipMalloc(&pool, size)\n", newer), "job-too-big");
}

TEST(WhoseRelease, a_kernel_that_is_launched_too_wide_is_its_programs_mistake) {
  const std::string wide =
      "Launch params (1024, 1, 1) are larger than launch bounds (256) for kernel _Z4sumfPf please "
      "add __launch_bounds__ to kernel define\n";
  EXPECT_EQ(cause_of(wide), "app-bug");
  EXPECT_NE(cause_of("It uses __launch_bounds__(256), and the launch params are larger.\n"),
            "app-bug");
}

// ------------------------------------------------------------------ whose build

const std::string own_error =
    "torch==2.5.1+cu121\ntransformers==4.44.0\n"
    "Traceback (most recent call last):\n  File \"load.py\", line 9, in <module>\n"
    "ValueError: expected one quant_state item, got two\n";

TEST(WhoseBuild, an_error_of_its_own_under_a_build_for_cuda_blames_no_amd_gpu) {
  const LogDiagnosis found = diagnose(own_error);
  EXPECT_EQ(found.cause.id, "not-amd-gpu");
  EXPECT_LT(found.cause.confidence, 0.8);
}

TEST(WhoseBuild, a_build_for_cuda_that_finds_no_gpu_or_is_on_an_amd_machine_is_the_wrong_one) {
  EXPECT_EQ(cause_of(own_error, amd), "wrong-wheel");
  EXPECT_EQ(cause_of("torch==2.5.1+cu121\n>>> torch.cuda.is_available()\nFalse\n"
                     "ValueError: no device\n",
                     "{}"),
            "wrong-wheel");
}

// ------------------------------------------------------------------ half of the RAM

constexpr std::string_view halo =
    R"({"vendor": "AMD", "gfx": "gfx1151", "ram": "96 GB", "cmdline": "amdgpu.gttsize=81920"})";
const std::string gtt_raised =
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 50120.00 MiB on device 0: cudaMalloc "
    "failed: out of memory\n"
    "$ cat /sys/class/drm/card1/device/mem_info_gtt_total\n85899345920\n";

TEST(HalfOfTheRam, what_a_program_prints_counts_more_than_what_gtt_was_raised_to) {
  EXPECT_EQ(cause_of(gtt_raised + "Total GPU memory: 46.90 GB\n", halo), "ttm-cap");
  EXPECT_EQ(cause_of(gtt_raised + "Total GPU memory: 46.90 GB\n"
                                  "hipMallocManaged gets no more either.\n",
                     halo),
            "ttm-cap");
}

TEST(HalfOfTheRam, a_program_that_sees_all_of_gtt_is_not_capped_at_half) {
  EXPECT_NE(cause_of(gtt_raised + "Total GPU memory: 80.00 GB\n", halo), "ttm-cap");
}

// ------------------------------------------------------------------ who holds the memory

const std::string full =
    "After two aborted answers the next model fails, VRAM is at 15 of 16 GB.\n";

TEST(WhoHoldsTheMemory, nobody_does_if_the_tools_list_no_process_that_uses_it) {
  EXPECT_EQ(cause_of(full + "rocm-smi does not know of any process using the memory, stopping the "
                            "ollama service doesn't help.\n"),
            "vram-orphaned");
}

TEST(WhoHoldsTheMemory, somebody_does_if_to_stop_him_helps) {
  EXPECT_EQ(cause_of(full + "Stopping the ollama service in the other window helps.\n"),
            "vram-held-by-other");
  EXPECT_NE(cause_of(full + "Stopping the ollama service doesn't help.\n"), "vram-held-by-other");
}

// ------------------------------------------------------------------ plug-ins, swap

TEST(Plugins, rccl_goes_on_without_those_that_are_not_there_and_not_without_itself) {
  const std::string refused = ".so: cannot open shared object file: No such file or directory.\n";
  EXPECT_EQ(cause_of("Training prints this at each start:\nlibrccl-net" + refused), "none");
  EXPECT_EQ(cause_of("Training prints this at each start:\nlibrccl" + refused), "missing-library");
}

TEST(Plugins, what_somebody_cannot_find_out_about_them_is_no_fault_of_theirs) {
  const std::string line =
      "At the start I see these messages:\n\nlibrccl-tuner.so: cannot open shared object file: No "
      "such file or directory\n\n";
  EXPECT_EQ(cause_of(line + "I cannot find any documentation of it.\n"), "none");
  EXPECT_NE(cause_of(line + "Then it cannot find its peers and hangs.\n"), "none");
}

const std::string linker_killed =
    "[97/98] Linking CXX shared library libkernels.so\n"
    "clang: error: unable to execute command: Killed\nninja: build stopped: subcommand failed.\n"
    "               total        used        free      shared  buff/cache   available\n"
    "Mem:           15901       15702         112           0          87         101\n";

TEST(SwapUsedUp, who_is_killed_without_ram_and_swap_needs_more_than_the_machine_has) {
  EXPECT_EQ(cause_of(linker_killed + "Swap:           8191        8191           0\n"),
            "job-too-big");
  EXPECT_NE(cause_of(linker_killed + "Swap:           8191         120        8071\n"),
            "job-too-big");
}

}  // namespace
}  // namespace headroom::findings::testing
