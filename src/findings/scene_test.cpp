// SPDX-License-Identifier: Apache-2.0
#include "findings/scene.h"

#include <gmock/gmock.h>

#include "findings/causes/testing.h"
#include "findings/scene_text.h"

namespace headroom::findings {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::tables;

Scene scene_of(std::string_view log, std::string_view stated = "{}") {
  logs::Observations observations;
  logs::LogReader reader(tables().matcher, observations, 0);
  reader.feed(log);
  reader.finish();
  return make_scene(observations, *facts::parse_stated(stated, "stated.json"), nullptr,
                    tables().gpus);
}

std::vector<std::string> targets_of(std::string_view text) {
  std::vector<std::string> targets;
  for (const SceneGpu& gpu : gpus_of_text(text, tables().gpus)) targets.push_back(gpu.gfx);
  return targets;
}

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

// ------------------------------------------------------------------ names of cards

struct Spelling {
  std::string_view text, gfx;
};

TEST(CardNames, people_write_them_in_many_ways) {
  for (const Spelling& one : {
           Spelling{"RX 7900 XTX", "gfx1100"},
           Spelling{"Radeon RX7900XTX", "gfx1100"},
           Spelling{"7900xtx", "gfx1100"},
           Spelling{"7900 XT 20GB", "gfx1100"},
           Spelling{"RX-7900 GRE", "gfx1100"},
           Spelling{"Radeon PRO W7900", "gfx1100"},
           Spelling{"2 x RX 7800 XT", "gfx1101"},
           Spelling{"rx 7700xt", "gfx1101"},
           Spelling{"AMD Radeon RX 7600 XT", "gfx1102"},
           Spelling{"Radeon RX 7700S", "gfx1102"},
           Spelling{"9070 XT", "gfx1201"},
           Spelling{"RX9070XT", "gfx1201"},
           Spelling{"Radeon AI PRO R9700", "gfx1201"},
           Spelling{"RX 9060 XT 16GB", "gfx1200"},
           Spelling{"6800XT", "gfx1030"},
           Spelling{"RX 6900 XT", "gfx1030"},
           Spelling{"RX 6950XT", "gfx1030"},
           Spelling{"RX 6800M", "gfx1031"},
           Spelling{"6700 XT", "gfx1031"},
           Spelling{"RX 6750 GRE", "gfx1031"},
           Spelling{"RX 6600", "gfx1032"},
           Spelling{"rx6650xt", "gfx1032"},
           Spelling{"RX 6700S", "gfx1032"},
           Spelling{"RX 6500 XT", "gfx1034"},
           Spelling{"RX 5700 XT", "gfx1010"},
           Spelling{"RX 5500M", "gfx1012"},
           Spelling{"Radeon VII", "gfx906"},
           Spelling{"Instinct MI50 32GB", "gfx906"},
           Spelling{"RX Vega 64", "gfx900"},
           Spelling{"Vega 56", "gfx900"},
           Spelling{"MI25", "gfx900"},
           Spelling{"RX 580 8GB", "gfx803"},
           Spelling{"Ellesmere [Radeon RX 470/480/570/570X/580/580X/590]", "gfx803"},
           Spelling{"Instinct MI210", "gfx90a"},
           Spelling{"MI250X", "gfx90a"},
           Spelling{"MI300X", "gfx942"},
           Spelling{"MI355X", "gfx950"},
           Spelling{"Radeon 780M", "gfx1103"},
           Spelling{"Ryzen 7 8845HS", "gfx1103"},
           Spelling{"HawkPoint1", "gfx1103"},
           Spelling{"Radeon 890M", "gfx1150"},
           Spelling{"Ryzen AI 9 HX 370", "gfx1150"},
           Spelling{"Ryzen AI Max+ 395", "gfx1151"},
           Spelling{"Radeon 8060S", "gfx1151"},
           Spelling{"Strix Halo", "gfx1151"},
           Spelling{"Radeon 680M", "gfx1035"},
           Spelling{"Ryzen 7 6800H", "gfx1035"},
           Spelling{"Ryzen 5 5600G", "gfx90c"},
           Spelling{"Ryzen 7 PRO 5850U", "gfx90c"},
           Spelling{"Ryzen 5 3400G", "gfx902"},
           Spelling{"Radeon RX Vega 11 Graphics", "gfx902"},
           Spelling{"Steam Deck", "gfx1033"},
       }) {
    EXPECT_THAT(targets_of(one.text), ElementsAre(std::string(one.gfx))) << one.text;
  }
}

TEST(CardNames, no_processor_is_a_card) {
  for (const std::string_view cpu : {"Ryzen 9 7950X3D",
                                     "Ryzen 9 7900X",
                                     "Ryzen 9 7900",
                                     "Ryzen 7 7800X3D",
                                     "Ryzen 7 7700X",
                                     "Ryzen 7 7700",
                                     "Ryzen 5 7600",
                                     "Ryzen 5 7600X",
                                     "Ryzen 9 9900X",
                                     "Ryzen 7 9700X",
                                     "Ryzen 5 9600X",
                                     "Ryzen 7 5800X3D",
                                     "Ryzen 7 5700X",
                                     "Ryzen 5 5600X",
                                     "Ryzen 5 5600XT",
                                     "Ryzen 9 5900XT",
                                     "Ryzen 7 5800XT",
                                     "Ryzen 5 3600",
                                     "Ryzen 7 3800XT",
                                     "Ryzen 9 9070",
                                     "Threadripper 7970X",
                                     "Threadripper PRO 5995WX",
                                     "EPYC 7763",
                                     "EPYC 9654",
                                     "AMD FX-8350",
                                     "Intel Core i7-6700K",
                                     "Intel Core i9-7900X",
                                     "Intel Xeon W-2295",
                                     "AMD Ryzen 5 5600G with Radeon Graphics",
                                     "AMD Ryzen 7 7840U w/ Radeon 780M Graphics"}) {
    for (const SceneGpu& gpu : gpus_of_text(cpu, tables().gpus)) {
      EXPECT_TRUE(gpu.integrated.value_or(false)) << cpu << " → " << gpu.gfx;
    }
  }
}

// ------------------------------------------------------------------ GPUs and their memory

TEST(Scene, reads_rocminfos_agents_in_their_order) {
  const Scene scene = scene_of(
      "Agent 1\n"
      "  Name:                    AMD Ryzen 9 7950X 16-Core Processor\n"
      "  Marketing Name:          AMD Ryzen 9 7950X 16-Core Processor\n"
      "  Device Type:             CPU\n"
      "      Size:                    65011712(0x3e00000) KB\n"
      "Agent 2\n"
      "  Name:                    gfx1100\n"
      "  Marketing Name:          Radeon RX 7900 XTX\n"
      "  Device Type:             GPU\n"
      "    L1:                      32(0x20) KB\n"
      "      Size:                    25149440(0x17fc000) KB\n"
      "      Size:                    64(0x40) KB\n"
      "      Name:                    amdgcn-amd-amdhsa--gfx1100\n"
      "Agent 3\n"
      "  Name:                    gfx1036\n"
      "  Marketing Name:          AMD Radeon Graphics\n"
      "      Size:                    32505856(0x1f00000) KB\n");
  ASSERT_EQ(scene.gpus.size(), 2U);
  EXPECT_EQ(scene.gpus[0].gfx, "gfx1100");
  EXPECT_EQ(scene.gpus[0].pool->value, std::uint64_t{25149440} * 1024);
  EXPECT_EQ(scene.gpus[1].gfx, "gfx1036");
  EXPECT_EQ(scene.gpus[1].pool->value, std::uint64_t{32505856} * 1024);
  EXPECT_TRUE(*scene.gpus[1].integrated);
  EXPECT_EQ(*scene.ram, (Bytes{62 * gib}));
  EXPECT_EQ(scene.gfx(), "gfx1100");
}

TEST(Scene, an_agents_paste_without_the_cpu_gives_no_ram) {
  const Scene scene = scene_of(
      "  Name:                    gfx1151\n"
      "      Size:                    65011712(0x3e00000) KB\n");
  EXPECT_FALSE(scene.ram.known());
  EXPECT_EQ(scene.gpus.at(0).pool->value, 62 * gib);
}

TEST(Scene, a_programs_device_line_gives_target_name_and_memory) {
  const Scene llama = scene_of(
      "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32, VRAM: 24560 "
      "MiB\n");
  ASSERT_EQ(llama.gpus.size(), 1U);
  EXPECT_EQ(llama.gpus[0].name, "AMD Radeon RX 7900 XTX");
  EXPECT_EQ(*llama.vram, Bytes{24560 * gib / 1024});
  const Scene ollama = scene_of(
      "time=2025-01-02T03:04:05.006Z level=INFO source=types.go:131 msg=\"inference compute\" id=0 "
      "library=rocm variant=\"\" compute=gfx1030 driver=6.10 name=1002:73bf total=\"16.0 GiB\" "
      "available=\"15.9 GiB\"\n");
  EXPECT_EQ(ollama.gfx(), "gfx1030");
  EXPECT_EQ(*ollama.vram, Bytes{16 * gib});
}

TEST(Scene, the_cards_memory_counts_before_the_integrated_ones) {
  const Scene scene = scene_of(
      "  Device 0: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no, Wave Size: 32, VRAM: 512 MiB\n"
      "  Device 1: AMD Radeon RX 9070 XT, gfx1201 (0x1201), VMM: no, Wave Size: 32, VRAM: 16304 "
      "MiB\n");
  EXPECT_EQ(*scene.vram, Bytes{16304 * gib / 1024});
}

TEST(Scene, comfyui_says_mb_for_mib) {
  const Scene scene = scene_of(
      "Total VRAM 16368 MB, total RAM 31984 MB\npytorch version: 2.9.0+rocm6.4\n"
      "AMD arch: gfx1201\n");
  EXPECT_EQ(*scene.vram, Bytes{16368 * gib / 1024});
  EXPECT_EQ(*scene.ram, Bytes{31984 * gib / 1024});
  EXPECT_EQ(*scene.torch_rocm, "6.4");
  EXPECT_EQ(scene.gfx(), "gfx1201");
}

TEST(Scene, the_kernels_log_names_the_chip_by_its_id) {
  const Scene scene = scene_of(
      "[    4.1] [drm] initializing kernel modesetting (IP DISCOVERY 0x1002:0x744C 0x1DA2:0xE471 "
      "0xC8).\n");
  EXPECT_EQ(scene.gfx(), "gfx1100");
}

// ------------------------------------------------------------------ software and settings

TEST(Scene, the_kernel_is_read_from_several_forms) {
  EXPECT_EQ(*scene_of("$ uname -r\n6.18.4\n").machine.kernel, "6.18.4");
  EXPECT_EQ(*scene_of("Linux box 6.12.48+deb13-amd64 #1 SMP\n").machine.kernel,
            "6.12.48+deb13-amd64");
  EXPECT_EQ(
      *scene_of("CPU: 3 PID: 9 Comm: python3 Not tainted 6.8.0-45-generic #45\n").machine.kernel,
      "6.8.0-45-generic");
}

TEST(Scene, several_settings_of_one_line_are_all_taken) {
  const Scene scene = scene_of(
      "docker run -e HSA_OVERRIDE_GFX_VERSION=10.3.0 -e HIP_VISIBLE_DEVICES=0,1 "
      "ollama/ollama:rocm\n");
  ASSERT_NE(scene.setting("HIP_VISIBLE_DEVICES"), nullptr);
  EXPECT_EQ(scene.setting("HIP_VISIBLE_DEVICES")->value, "0,1");
  EXPECT_EQ(scene.setting("HSA_OVERRIDE_GFX_VERSION")->value, "10.3.0");
}

TEST(Scene, ollamas_start_line_tells_what_is_set_and_what_is_not) {
  const Scene scene = scene_of(
      "2025/01/02 routes.go:1259: INFO server config env=\"map[CUDA_VISIBLE_DEVICES: "
      "GPU_DEVICE_ORDINAL: HIP_VISIBLE_DEVICES: HSA_OVERRIDE_GFX_VERSION:11.0.0 HTTPS_PROXY: "
      "OLLAMA_DEBUG:false]\"\n");
  EXPECT_EQ(scene.setting("HIP_VISIBLE_DEVICES"), nullptr);
  ASSERT_NE(scene.setting("HSA_OVERRIDE_GFX_VERSION"), nullptr);
  EXPECT_EQ(scene.setting("HSA_OVERRIDE_GFX_VERSION")->value, "11.0.0");
}

TEST(Scene, commands_and_prompts_tell_of_containers) {
  EXPECT_EQ(*scene_of("$ podman exec llm rocminfo\n").machine.container, "podman");
  EXPECT_EQ(*scene_of("$ kubectl logs vllm-0\n").machine.container, "kubernetes");
  EXPECT_EQ(*scene_of("root@3f9c1a2b4d5e:/app# rocminfo\n").machine.container, "docker");
  EXPECT_FALSE(scene_of("the docker image is new\n").machine.container.known());
  EXPECT_FALSE(scene_of("", R"({"container": "none"})").machine.container.known());
}

TEST(Scene, a_distributions_name_tells_its_family) {
  EXPECT_EQ(distribution_id_of("Linux Mint 21.3"), "linuxmint ubuntu debian");
  EXPECT_EQ(distribution_id_of("Kubuntu 24.04"), "ubuntu debian");
  EXPECT_EQ(distribution_id_of("CachyOS"), "cachyos arch");
  EXPECT_EQ(distribution_id_of("Haiku"), "");
  EXPECT_EQ(*scene_of("PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n").machine.distribution_id,
            "debian");
}

// ------------------------------------------------------------------ whose machine

Vendor vendor_of(std::string_view log, std::string_view stated = "{}") {
  const Scene scene = scene_of(log, stated);
  EXPECT_TRUE(scene.vendor.known()) << log;
  return scene.vendor ? *scene.vendor : Vendor::none;
}

TEST(VendorOfALog, pytorch_says_cuda_on_nvidia_and_hip_on_amd) {
  constexpr std::string_view rest =
      " out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.98 GiB\n";
  EXPECT_EQ(vendor_of("torch.cuda.OutOfMemoryError: CUDA" + std::string(rest)), Vendor::nvidia);
  EXPECT_EQ(vendor_of("torch.cuda.OutOfMemoryError: HIP" + std::string(rest)), Vendor::amd);
}

TEST(VendorOfALog, an_amd_processor_is_no_amd_gpu) {
  EXPECT_EQ(vendor_of("CPU: AMD Ryzen 5 5600G with Radeon Graphics\n"
                      "GPU 0: NVIDIA GeForce RTX 3060\n"),
            Vendor::nvidia);
  EXPECT_EQ(vendor_of("04:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] "
                      "Cezanne\nRuntimeError: CUDA error: device-side assert triggered\n"),
            Vendor::nvidia);
}

TEST(VendorOfALog, nvidias_libraries_are_looked_for_on_every_machine) {
  EXPECT_EQ(vendor_of("msg=\"Searching for GPU management library libnvidia-ml.so\"\n"
                      "msg=\"inference compute\" id=0 library=rocm compute=gfx1100\n"),
            Vendor::amd);
}

TEST(VendorOfALog, a_report_of_absent_software_says_nothing) {
  EXPECT_FALSE(scene_of("HIP runtime version: N/A\nMIOpen runtime version: N/A\n").vendor.known());
  EXPECT_FALSE(scene_of("torch.cuda.is_available()\n").vendor.known());
}

TEST(VendorOfALog, ggml_says_cuda_malloc_on_rocm_too) {
  EXPECT_EQ(
      vendor_of("ggml_cuda_init: found 1 ROCm devices:\n"
                "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device "
                "0: cudaMalloc failed: out of memory\n"),
      Vendor::amd);
}

TEST(VendorOfALog, others_by_their_own_tools) {
  EXPECT_EQ(vendor_of("ggml_metal_init: found device: Apple M2 Max\n"), Vendor::apple);
  EXPECT_EQ(vendor_of("RuntimeError: XPU out of memory. Tried to allocate\n"), Vendor::intel);
  EXPECT_EQ(vendor_of("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n"),
            Vendor::nvidia);
  EXPECT_EQ(vendor_of("hello\n", R"({"gpu": "GTX 1080 Ti"})"), Vendor::nvidia);
  EXPECT_EQ(vendor_of("hello\n", R"j({"vendor": "none (CPU job)"})j"), Vendor::none);
}

}  // namespace
}  // namespace headroom::findings
