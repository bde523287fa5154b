// SPDX-License-Identifier: Apache-2.0
// Figures for free memory that are wrong because an APU's memory is the machine's: the system's
// free RAM taken for the GPU's, or parts that overlap added up.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "findings/causes/amounts.h"
#include "findings/causes/free_memory_claim.h"

namespace headroom::findings {
namespace {

// Whether a size is one of the larger ones that BIOSes of Strix Halo offer for the carve-out, which
// the system's RAM lacks.
bool is_carve_out(Bytes size) {
  constexpr Bytes offered[] = {16_GiB, 32_GiB, 48_GiB, 64_GiB, 96_GiB};
  return std::find(std::begin(offered), std::end(offered), size) != std::end(offered);
}

}  // namespace

// On an APU the program's figure is the available RAM, while HIP or the driver has more.
FigureClaim of_available_ram(const DeviceMemory& memory) {
  if (!memory.unified || !memory.job_free || !memory.ram_available) return {};
  const double same = part_of(memory.job_free->amount, memory.ram_available->amount);
  if (same < 0.98 || same > 1.02) return {};
  std::optional<SeenAmount> real = memory.hip_free;
  if (!real && memory.gtt_total) {
    const Bytes used = memory.gtt_used ? memory.gtt_used->amount : Bytes{};
    real = SeenAmount{saturating_sub(memory.gtt_total->amount, used), memory.gtt_total->seen};
  }
  const Bytes believed = memory.job_free->amount;
  // Of what the program itself counts as the whole, others may hold a part.
  const bool is_whole = !real && memory.job_total;
  if (is_whole) real = memory.job_total;
  if (!real || part_of(believed, real->amount) > (is_whole ? 0.5 : 0.9)) return {};
  return {is_whole ? 0.7 : 0.85,
          fmt::format("{} is free, but the program takes MemAvailable, {}, as the amount",
                      to_string(real->amount), to_string(believed)),
          "On an integrated GPU the program reads /proc/meminfo instead of asking the driver. Page "
          "cache and memory reserved for the GPU then look used.",
          {memory.job_free->seen, memory.ram_available->seen, real->seen}};
}

// vLLM and SGLang measure before they take their share, and do not know that the system lives in
// the same memory (kyuz0/amd-strix-halo-vllm-toolboxes#65).
FigureClaim of_share_of_shared_memory(const LogSubject& subject, const DeviceMemory& memory) {
  const logs::Observation* share = subject.log.first("memory-share-asked");
  const logs::Observation* swapped = subject.log.first("swap-told");
  if (!memory.unified || share == nullptr || swapped == nullptr) return {};
  return {0.6,
          "The program takes its share of a memory that the system needs too",
          "On an integrated GPU the free figure that the runtime gives is the machine's RAM. The "
          "program counts its share as if it were a card's own, so the system is left without.",
          {swapped, share}};
}

// An APU has no memory but the machine's, so a program that counts more adds up what overlaps.
FigureClaim of_more_than_ram(const LogSubject& subject, const DeviceMemory& memory) {
  if (!memory.unified || !memory.job_total || !subject.scene.ram) return {};
  // What the system counts lacks the carve-out; memory is built in steps of 8 GiB.
  constexpr std::uint64_t step = (8_GiB).value;
  const Bytes built_in{(subject.scene.ram->value + step - 1) / step * step};
  if (memory.job_total->amount <= built_in || is_carve_out(memory.job_total->amount)) return {};
  return {0.7,
          fmt::format("The program counts {} on an APU in a machine with {}",
                      to_string(memory.job_total->amount), to_string(*subject.scene.ram)),
          "The program adds carve-out and GTT as on a card, and GTT's limit can be larger than the "
          "RAM.",
          {memory.job_total->seen}};
}

}  // namespace headroom::findings
