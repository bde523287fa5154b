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

// The runtime's total is the carve-out to within rounding, and GTT is at least twice that. ROCm up
// to 7.2 counted so (ROCm/hip#3892, ROCm/rocm-systems#5596).
FigureClaim of_carve_out_alone(const DeviceMemory& memory) {
  if (!memory.unified || !memory.hip_total || !memory.vram_total || !memory.gtt_total) return {};
  const double same = part_of(memory.hip_total->amount, memory.vram_total->amount);
  if (same < 0.95 || same > 1.05) return {};
  const Bytes gtt = memory.gtt_total->amount;
  if (part_of(memory.vram_total->amount, gtt) > 0.5) return {};
  return {0.65,
          fmt::format("HIP counts {}, the carve-out alone, although the GPU may use {} of GTT",
                      to_string(memory.hip_total->amount), to_string(gtt)),
          "On an integrated GPU both are the machine's RAM. A program that goes by the runtime's "
          "figure refuses what would fit.",
          {memory.hip_total->seen, memory.gtt_total->seen, memory.vram_total->seen}};
}

// Servers list their devices before they load anything, so what is not free then is another
// program's, or counted wrongly. Nobody fills a hundred gigabytes unnoticed.
FigureClaim of_little_at_start(const LogSubject& subject, const DeviceMemory& memory) {
  const logs::Observation* listed = subject.log.first("llama-device-memory");
  if (listed == nullptr || !memory.unified || memory.vram_used || memory.gtt_used) return {};
  const auto total = amount_of(*listed, "total"), free = amount_of(*listed, "free");
  if (!total || !free || !memory.holders.empty() || part_of(*free, *total) > 0.1) return {};
  constexpr Bytes large = 16_GiB;
  if (*total < large) return {};
  const bool newly = subject.log.any_of({"program-regressed", "regression-told"});
  return {newly ? 0.68 : 0.5,
          fmt::format("At its start the program counts {} of {} as free on this APU",
                      to_string(*free), to_string(*total)),
          "No line shows who holds the rest. On an APU some releases take the system's free RAM as "
          "the GPU's, which leaves out the carve-out (ggml-org/llama.cpp: "
          "ggml_backend_cuda_get_available_uma_memory).",
          {listed}};
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
