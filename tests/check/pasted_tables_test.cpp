// SPDX-License-Identifier: Apache-2.0
// Tables of the tools that show GPUs are read from a paste as they are read from the tool itself:
// folded at every width from 60 to 120, with and without a hanging indent, and as pages quote them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

#include "findings/causes/device_memory.h"
#include "knowledge/gpu_tables.h"
#include "knowledge/signatures.h"
#include "logs/log_reader.h"
#include "support/pasting.h"

namespace headroom {
namespace {

using findings::DeviceMemory;
using testing::Folding;

struct Tables {
  knowledge::GpuTables gpus = *knowledge::load_gpu_tables();
  knowledge::SignatureTable signatures = *knowledge::load_signatures();
  logs::Matcher matcher = *logs::Matcher::make(signatures);
};

const Tables& tables() {
  static const Tables loaded;
  return loaded;
}

std::string to_text(const std::optional<findings::SeenAmount>& amount) {
  return amount ? to_string(amount->amount) : "?";
}

// Everything that the tools' tables tell, in one line.
std::string facts_of(std::string_view log) {
  logs::Observations observations;
  logs::LogReader reader(tables().matcher, observations, 0, "job.log");
  reader.feed(log);
  reader.finish();
  const findings::Scene scene =
      findings::make_scene(observations, facts::Stated{}, nullptr, tables().gpus);
  const std::vector<std::string> names = {"job.log"};
  const DeviceMemory memory = findings::device_memory({observations, scene, tables().gpus, names});
  std::string text = fmt::format("vram {}/{}, gtt {}/{}, pool {}, {}", to_text(memory.vram_used),
                                 to_text(memory.vram_total), to_text(memory.gtt_used),
                                 to_text(memory.gtt_total), to_text(memory.pool),
                                 memory.no_processes != nullptr ? "no processes" : "processes:");
  for (const auto& one : memory.holders) {
    text += fmt::format(" {} {} {};", one.pid, one.program, one.told ? to_string(one.vram) : "?");
  }
  for (const auto& gpu : scene.gpus) text += fmt::format(" {} [{}]", gpu.gfx, gpu.name);
  return text;
}

struct Table {
  const char* name;
  const char* facts;
  const char* text;
};

// As the tools print them for a Radeon RX 7900 XT (20464 MiB) and its neighbours.
constexpr Table shown[] = {
    {"rocm_smi", "vram 99.00 GiB/100.00 GiB, gtt ?/?, pool ?, processes:",
     R"(============================================ ROCm System Management Interface ============================================
====================================================== Concise Info ======================================================
Device  Node  IDs              Temp    Power  Partitions          SCLK   MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Edge)  (Avg)  (Mem, Compute, ID)
==========================================================================================================================
0       1     0x744c,   26859  40.0°C  15.0W  N/A, N/A, 0         58Mhz  96Mhz    0%   auto  327.0W  99%    0%
1       2     0x744c,   10201  38.0°C  14.0W  N/A, N/A, 0         41Mhz  96Mhz    0%   auto  327.0W  3%     0%
==========================================================================================================================
================================================== End of ROCm SMI Log ===================================================
)"},
    {"rocm_smi_showmeminfo", "vram 19.96 GiB/19.98 GiB, gtt ?/?, pool ?, processes:",
     R"(============================ ROCm System Management Interface ============================
================================== Memory Usage (Bytes) ==================================
GPU[0]		: VRAM Total Memory (B): 21458059264
GPU[0]		: VRAM Total Used Memory (B): 21431844864
GPU[1]		: VRAM Total Memory (B): 21458059264
GPU[1]		: VRAM Total Used Memory (B): 27574272
==========================================================================================
================================== End of ROCm SMI Log ===================================
)"},
    {"rocm_smi_showpids",
     "vram ?/?, gtt ?/?, pool ?, processes: 4127 python3 19.80 GiB; 4388 llama-server 512.0 MiB;",
     R"(============================ ROCm System Management Interface ============================
===================================== KFD Processes ======================================
KFD process information:
PID  	PROCESS NAME	GPU(s)	VRAM USED  	SDMA USED	CU OCCUPANCY
4127 	python3     	1     	21260139725	0        	UNKNOWN
4388 	llama-server	1     	536870912  	0        	UNKNOWN
==========================================================================================
================================== End of ROCm SMI Log ===================================
)"},
    {"rocm_smi_no_processes", "vram ?/?, gtt ?/?, pool ?, no processes",
     R"(============================ ROCm System Management Interface ============================
===================================== KFD Processes ======================================
No KFD PIDs currently running
==========================================================================================
================================== End of ROCm SMI Log ===================================
)"},
    {"amd_smi",
     "vram 19.40 GiB/19.98 GiB, gtt ?/?, pool ?, processes: 4127 python3 19.30 GiB; gfx1100 [RX "
     "7900 XT]",
     R"(+------------------------------------------------------------------------------+
| AMD-SMI 26.0.0+37d158ab      amdgpu version: 6.14.14 ROCm version: 7.0.0     |
| VBIOS version: 00107962                                                      |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| BDF                        GPU-Name | Mem-Uti   Temp   UEC       Power-Usage |
| GPU  HIP-ID  OAM-ID  Partition-Mode | GFX-Uti    Fan               Mem-Usage |
|=====================================+========================================|
| 0000:03:00.0 AMD Radeon RX 7900 XT  | 0 %      46 °C   0           25/327 W  |
|   0       0     N/A             N/A | 0 %     0.0 %          19866/20464 MB  |
+-------------------------------------+----------------------------------------+
+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |
|==============================================================================|
|    0       4127  python3                2.0 MB   19.3 GB    19.8 GB      0.0 |
+------------------------------------------------------------------------------+
)"},
    {"amd_smi_no_processes",
     "vram 28.0 MiB/19.98 GiB, gtt ?/?, pool ?, no processes gfx1100 [RX 7900 XT]",
     R"(+------------------------------------------------------------------------------+
| AMD-SMI 26.0.0+37d158ab      amdgpu version: 6.14.14 ROCm version: 7.0.0     |
| Platform: Linux Baremetal                                                    |
|-------------------------------------+----------------------------------------|
| 0000:03:00.0 AMD Radeon RX 7900 XT  | 0 %      46 °C   0           25/327 W  |
|   0       0     N/A             N/A | 0 %     0.0 %             28/20464 MB  |
+-------------------------------------+----------------------------------------+
+------------------------------------------------------------------------------+
| Processes:                                                                   |
|  GPU        PID  Process Name          GTT_MEM  VRAM_MEM  MEM_USAGE     CU % |
|==============================================================================|
|  No running processes found                                                  |
+------------------------------------------------------------------------------+
)"},
    {"amd_smi_monitor", "vram 19.80 GiB/20.00 GiB, gtt ?/?, pool ?, processes:",
     R"(GPU  XCP  POWER   GPU_T   MEM_T   GFX_CLK   GFX%   MEM%   ENC%   DEC%      VRAM_USAGE
  0    0   15 W   40 °C   50 °C    58 MHz    0 %    0 %    N/A    0 %   19.8/ 20.0 GB
  1    0   14 W   38 °C   48 °C    41 MHz    0 %    0 %    N/A    0 %    0.1/ 20.0 GB
)"},
    {"amd_smi_metric", "vram 19.40 GiB/19.98 GiB, gtt 14.0 MiB/31.19 GiB, pool ?, processes:",
     R"(GPU: 0
    MEM_USAGE:
        TOTAL_VRAM: 20464 MB
        USED_VRAM: 19866 MB
        FREE_VRAM: 598 MB
        TOTAL_GTT: 31936 MB
        USED_GTT: 14 MB
        FREE_GTT: 31922 MB
)"},
    {"amd_smi_process", "vram ?/?, gtt ?/?, pool ?, processes: 4127 python3 19.30 GiB;",
     R"(GPU: 0
    PROCESS_INFO:
        NAME: python3
        PID: 4127
        MEMORY_USAGE:
            GTT_MEM: 2.0 MB
            CPU_MEM: 0.0 B
            VRAM_MEM: 19.3 GB
        MEM_USAGE: 19.8 GB
        USAGE:
            GFX: 0 ns
            ENC: 0 ns
)"},
    {"amd_smi_process_none", "vram ?/?, gtt ?/?, pool ?, no processes",
     "GPU: 0\n    PROCESS_INFO: No running processes detected\n"},
    {"amd_smi_static", "vram ?/?, gtt ?/?, pool ?, processes: gfx1100 [RX 7900 XT]",
     R"(GPU: 0
    ASIC:
        MARKET_NAME: AMD Radeon RX 7900 XT
        VENDOR_ID: 0x1002
        DEVICE_ID: 0x744c
        TARGET_GRAPHICS_VERSION: gfx1100
)"},
    {"rocminfo", "vram ?/?, gtt ?/?, pool 19.98 GiB, processes: gfx1100 [RX 7900 XT]",
     R"(*******
Agent 2
*******
  Name:                    gfx1100
  Uuid:                    GPU-8a1b2c3d4e5f6071
  Marketing Name:          AMD Radeon RX 7900 XT
  Vendor Name:             AMD
  Feature:                 KERNEL_DISPATCH
  Device Type:             GPU
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    20955136(0x13fc000) KB
      Allocatable:             TRUE
)"},
    {"nvtop",
     "vram 19.83 GiB/19.98 GiB, gtt ?/?, pool ?, processes: 4127 python3 19.82 GiB; gfx1100 [RX "
     "7900 XT]",
     R"( Device 0 [AMD Radeon RX 7900 XT] PCIe GEN 4@16x RX: 0.000 KiB/s TX: 0.000 KiB/s
 GPU 58MHz   MEM 96MHz   TEMP  40°C FAN   0% POW  15 / 327 W
 GPU[                                  0%] MEM[|||||||||||||||||||||||19.830Gi/19.984Gi]
    PID USER DEV     TYPE  GPU        GPU MEM    CPU  HOST MEM Command
   4127 user   0  Compute   0%  20296MiB  99%     0%   1532MiB python3 train.py
)"},
};

class PastedTables : public ::testing::TestWithParam<Table> {};

TEST_P(PastedTables, are_read_whole) {
  EXPECT_EQ(facts_of(GetParam().text), GetParam().facts);
}

TEST_P(PastedTables, tell_the_same_when_they_are_folded) {
  const std::string expected = facts_of(GetParam().text);
  std::size_t tried = 0, different = 0;
  for (std::size_t width = 60; width <= 120; ++width) {
    for (const bool at_blanks : {false, true}) {
      for (const std::size_t indent : {0, 4}) {
        const std::string folded =
            testing::fold(GetParam().text, Folding{width, at_blanks, indent});
        ++tried;
        const std::string found = facts_of(folded);
        if (found == expected) continue;
        ++different;
        std::cout << width << (at_blanks ? " at blanks" : " hard") << ", indent " << indent << ": "
                  << found << "\n";
      }
    }
  }
  // A cell may end just where the line is cut, and then nothing shows the fold.
  EXPECT_LE(100 * different, tried);
}

TEST_P(PastedTables, tell_the_same_in_every_dress) {
  const std::string expected = facts_of(GetParam().text);
  for (const testing::Dress& dress : testing::dresses()) {
    EXPECT_EQ(facts_of(put_on(GetParam().text, dress)), expected) << dress.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shown, PastedTables, ::testing::ValuesIn(shown),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace headroom
