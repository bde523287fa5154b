// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "facts/gpu.h"

namespace headroom::facts {
namespace {

// What idle cards were seen to keep for themselves: 8 MiB (MI300A), 10 MiB (MI50 32 GB), 19 MiB
// (RX 7900 XT), 283 MiB (MI300X, 192 GiB); page tables grow with the memory. An APU's display scans
// out of its carve-out.
Bytes idle_bound(const Gpu& gpu, bool integrated) {
  const Bytes total = gpu.vram_total ? *gpu.vram_total : Bytes{};
  Bytes bound = 32_MiB + Bytes{total.value / 512};
  if (integrated) bound += 192_MiB;
  return bound;
}

Fact<Bytes> find_used(const Gpu& gpu, bool with_gtt) {
  if (!gpu.vram_used || !with_gtt) return gpu.vram_used;
  if (!gpu.gtt_used) return gpu.gtt_used;
  return {*gpu.vram_used + *gpu.gtt_used, Source{"computed", 0, "VRAM in use + GTT in use"}};
}

}  // namespace

Accounting make_accounting(const Gpu& gpu) {
  const bool integrated = gpu.integrated && *gpu.integrated;
  Accounting account;
  account.used = find_used(gpu, integrated);
  for (const Holder& holder : gpu.holders) {
    Bytes held = holder.vram ? *holder.vram : Bytes{};
    if (integrated && holder.gtt) held += *holder.gtt;
    switch (holder.whereabouts) {
      case Whereabouts::here:
        account.here += held;
        break;
      case Whereabouts::outside:
        account.outside += held;
        break;
      case Whereabouts::gone:
        account.gone += held;
    }
  }
  if (!account.used) {
    account.unattributed = account.used;
    return account;
  }
  const Bytes held = account.here + account.outside + account.gone;
  const Bytes rest = saturating_sub(*account.used, held);
  account.beyond = saturating_sub(held, *account.used);
  account.baseline = std::min(rest, idle_bound(gpu, integrated));
  account.unattributed = {rest - account.baseline,
                          Source{"computed", 0, "in use - holders - the driver's own"}};
  return account;
}

std::string_view to_string(Whereabouts whereabouts) {
  switch (whereabouts) {
    case Whereabouts::here:
      return "here";
    case Whereabouts::outside:
      return "outside";
    case Whereabouts::gone:
      break;
  }
  return "gone";
}

}  // namespace headroom::facts
