// SPDX-License-Identifier: Apache-2.0
#include "findings/memory_use.h"

#include <algorithm>

namespace headroom::findings {

std::optional<MemoryUse> memory_use(const facts::Gpu& gpu) {
  const facts::Rung* binding = gpu.ladder.binding();
  if (binding == nullptr || binding->limit->value == 0) return std::nullopt;
  const auto& used = on_gtt(gpu) ? gpu.gtt_used : gpu.vram_used;
  if (!used) return std::nullopt;
  return MemoryUse{*binding->limit, used};
}

double share(Bytes part, Bytes whole) {
  return whole.value == 0 ? 0 : static_cast<double>(part.value) / static_cast<double>(whole.value);
}

Bytes reserve_for_system(Bytes ram) {
  return std::clamp(Bytes{ram.value / 4}, 4_GiB, 8_GiB);
}

Bytes advised_gpu_limit(Bytes ram) {
  const Bytes most = {
      round_down(saturating_sub(ram, reserve_for_system(ram)).value, (1_GiB).value)};
  return std::max(most, Bytes{round_down(ram.value / 2, 4096)});
}

bool on_gtt(const facts::Gpu& gpu) {
  return gpu.ladder.route && *gpu.ladder.route == facts::Route::gtt;
}

bool on_carve_out(const facts::Gpu& gpu) {
  return gpu.integrated && *gpu.integrated && gpu.ladder.route &&
         *gpu.ladder.route == facts::Route::vram;
}

bool is_half_of_ram(Bytes limit, Bytes ram) {
  const double part = share(limit, ram);
  return part > 0.48 && part < 0.52;
}

std::string title_of(const facts::Gpu& gpu) {
  return gpu.gfx ? gpu.name + " (" + *gpu.gfx + ")" : gpu.name;
}

}  // namespace headroom::findings
