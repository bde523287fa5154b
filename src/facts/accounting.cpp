// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "facts/gpu.h"

namespace headroom::facts {
namespace {

// What idle cards were seen to keep for themselves: 8 MiB (MI300A), 10 MiB (MI50 32 GB), 19 MiB
// (RX 7900 XT), 283 MiB (MI300X, 192 GiB); page tables grow with the memory. An APU's display scans
// out of its carve-out.
Bytes idle_bound(Bytes total, bool integrated) {
  Bytes bound = 32_MiB + Bytes{total.value / 512};
  if (integrated) bound += 192_MiB;
  return bound;
}

Fact<Bytes> computed(Bytes amount, const char* how) {
  return {amount, Source{"computed", 0, how}};
}

// Where it is not known whether a GPU has memory of its own, VRAM alone may be half of the answer.
Fact<Bytes> find_used(const Gpu& gpu) {
  if (!gpu.vram_used) return gpu.vram_used;
  if (!gpu.integrated) return gpu.integrated.absent<Bytes>();
  if (!*gpu.integrated) return gpu.vram_used;
  if (!gpu.gtt_used) return gpu.gtt_used;
  return computed(*gpu.vram_used + *gpu.gtt_used, "VRAM in use + GTT in use");
}

// What one holder has, where either witness told anything.
std::optional<Bytes> held_by(const Holder& holder, bool integrated) {
  if (!integrated) return holder.vram;
  if (!holder.vram && !holder.gtt) return std::nullopt;
  return (holder.vram ? *holder.vram : Bytes{}) + (holder.gtt ? *holder.gtt : Bytes{});
}

Fact<Bytes> sum_of(const Gpu& gpu, Whereabouts whereabouts) {
  const bool integrated = gpu.integrated && *gpu.integrated;
  Bytes sum;
  for (const Holder& holder : gpu.holders) {
    if (holder.whereabouts != whereabouts) continue;
    const auto held = held_by(holder, integrated);
    if (!held) {
      return {Missing{Why::not_present,
                      fmt::format("the kernel does not say how much PID {} holds", holder.pid)},
              holder.source};
    }
    sum += *held;
  }
  return computed(sum, "the sum over its holders");
}

// The first of them that is not known, or nullptr.
const Fact<Bytes>* first_unknown(std::initializer_list<const Fact<Bytes>*> needed) {
  for (const Fact<Bytes>* fact : needed) {
    if (!*fact) return fact;
  }
  return nullptr;
}

}  // namespace

Accounting make_accounting(const Gpu& gpu) {
  Accounting account;
  account.used = find_used(gpu);
  account.here = sum_of(gpu, Whereabouts::here);
  account.outside = sum_of(gpu, Whereabouts::outside);
  account.gone = sum_of(gpu, Whereabouts::gone);
  const auto* unknown = first_unknown(
      {&account.used, &account.here, &account.outside, &account.gone, &gpu.vram_total});
  if (unknown != nullptr) {
    account.baseline = account.unattributed = account.beyond = *unknown;
    return account;
  }
  const Bytes held = *account.here + *account.outside + *account.gone;
  const Bytes rest = saturating_sub(*account.used, held);
  const Bytes own = std::min(rest, idle_bound(*gpu.vram_total, *gpu.integrated));
  account.beyond = computed(saturating_sub(held, *account.used), "holders - in use");
  account.baseline = computed(own, "the most that an idle GPU keeps");
  account.unattributed = computed(rest - own, "in use - holders - the driver's own");
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
