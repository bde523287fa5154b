// SPDX-License-Identifier: Apache-2.0
#include "facts/ladder.h"

#include <fmt/format.h>

#include <utility>

#include "facts/gpu.h"
#include "facts/machine_facts.h"

namespace headroom::facts {
namespace {

Source computed(std::string how) {
  return {"computed", 0, std::move(how)};
}

template <class T = Bytes>
Fact<T> absent(Why why, std::string text) {
  return {Missing{why, std::move(text)}, Source{}};
}

class Builder {
 public:
  Builder(const Gpu& gpu, const MachineFacts& machine) : gpu_(gpu), machine_(machine) {
    ladder_.route = infer_route(gpu, machine);
    in_gtt_ = ladder_.route && *ladder_.route == Route::gtt;
    in_vram_ = ladder_.route && *ladder_.route == Route::vram;
  }

  Ladder build() {
    system_rungs();
    pool_rungs();
    outer_rungs();
    mark_binding();
    return std::move(ladder_);
  }

 private:
  Rung& add(std::string name, FixedAt fixed_at, bool applies, Fact<Bytes> limit,
            RungKind kind = RungKind::capacity) {
    Rung rung;
    rung.name = std::move(name);
    rung.fixed_at = fixed_at;
    rung.applies = applies;
    rung.limit = std::move(limit);
    rung.kind = kind;
    rung.used = absent(Why::not_applicable, "counts nothing of its own");
    ladder_.rungs.push_back(std::move(rung));
    return ladder_.rungs.back();
  }

  void system_rungs() {
    const Meminfo& memory = machine_.memory;
    Rung& ram = add("ram", FixedAt::boot, in_gtt_, memory.total);
    if (memory.total && memory.available) {
      ram.used = {saturating_sub(*memory.total, *memory.available),
                  computed("MemTotal - MemAvailable")};
    } else {
      ram.used = (memory.total ? memory.available : memory.total).absent<Bytes>();
    }
    add("vram", FixedAt::boot, in_vram_, gpu_.vram_total).used = gpu_.vram_used;
    // The file is live, but what KFD and GTT took from it was taken when the driver loaded.
    add("ttm", FixedAt::driver_load, in_gtt_, machine_.pages_limit).used =
        memory.gpu_active ? memory.gpu_active : gpu_.gtt_used;
    add("gtt", FixedAt::driver_load, in_gtt_, gpu_.gtt_total).used = gpu_.gtt_used;
    add("prefer-gtt", FixedAt::driver_load, in_gtt_, switch_state());
  }

  Fact<Bytes> switch_state() const {
    const bool integrated = gpu_.integrated && *gpu_.integrated;
    if (gpu_.integrated && !integrated) {
      return absent(Why::not_applicable, "a discrete card allocates from its own VRAM");
    }
    if (!ladder_.route) return ladder_.route.absent<Bytes>();
    return absent(Why::not_applicable,
                  in_gtt_ ? "a switch, not a size: on, hipMalloc takes system memory"
                          : "a switch, not a size: off, hipMalloc takes the carve-out");
  }

  void pool_rungs() {
    add("pool", FixedAt::driver_load, ladder_.route.known(), gpu_.pool).used =
        in_gtt_ ? gpu_.gtt_used : gpu_.vram_used;
    const KfdLimits& kfd = machine_.kfd_limits;
    add("kfd-system", FixedAt::driver_load, in_gtt_, system_limit()).used = kfd.system_used;
    add("kfd-ttm", FixedAt::driver_load, in_gtt_, ttm_limit_at_load()).used = kfd.ttm_used;
  }

  Fact<Bytes> system_limit() const {
    const Text* lifted = machine_.parameter("amdgpu.no_system_mem_limit");
    if (lifted != nullptr && *lifted && (**lifted == "Y" || **lifted == "1")) {
      return {Missing{Why::not_limited, "amdgpu.no_system_mem_limit is set"}, lifted->source()};
    }
    if (machine_.kfd_limits.system_limit) return machine_.kfd_limits.system_limit;
    const Fact<Bytes>& ram = machine_.memory.total;
    if (!ram) return ram.absent<Bytes>();
    return {kfd_system_limit(*ram), computed(explain_system_limit(*ram))};
  }

  // The driver's own figure is in debugfs; without root, a pool in system memory shows it.
  Fact<Bytes> ttm_limit_at_load() const {
    if (machine_.kfd_limits.ttm_limit) return machine_.kfd_limits.ttm_limit;
    if (in_gtt_ && gpu_.pool) {
      return {*gpu_.pool, computed("TTM's limit when the driver loaded, as the pool shows")};
    }
    return machine_.kfd_limits.ttm_limit;
  }

  void outer_rungs() {
    add("kfd-free", FixedAt::live, ladder_.route.known(), gpu_.kfd_free, RungKind::free);
    add("ram-free", FixedAt::live, in_gtt_, machine_.memory.available, RungKind::free);
    // Memory from hipMalloc is charged to no memory cgroup, on cards nor on APUs.
    add("cgroup", FixedAt::live, false, machine_.cgroup.memory_max).used =
        machine_.cgroup.memory_used;
    Rung& dmem = add("dmem", FixedAt::live, in_vram_, dmem_limit());
    dmem.used = parse_dmem(machine_.cgroup.dmem_current, gpu_.pci);
    add("hip", FixedAt::live, true, largest_allocation(), RungKind::one_allocation);
    add("framework", FixedAt::live, true,
        absent(Why::not_asked, "only a running framework knows what it reserved"));
  }

  Fact<Bytes> dmem_limit() const {
    Fact<Bytes> tightest = absent(Why::not_present, "");
    for (const Text& text : machine_.cgroup.dmem_max) {
      auto limit = parse_dmem(text, gpu_.pci);
      if (limit ? !tightest || *limit < *tightest : !tightest) tightest = std::move(limit);
    }
    return tightest;
  }

  // GPU_SINGLE_ALLOC_PERCENT of ROCm's clr: 85, 75 for heaps up to 512 MiB, 60 on MI300A.
  Fact<Bytes> largest_allocation() const {
    if (!gpu_.pool) return gpu_.pool.absent<Bytes>();
    std::uint64_t percent = 85;
    if (*gpu_.pool <= 512_MiB) percent = 75;
    if (is_mi300(gpu_) && gpu_.integrated && *gpu_.integrated) percent = 60;
    return {Bytes{gpu_.pool->value / 100 * percent},
            computed(fmt::format("{} % of {}", percent, to_string(*gpu_.pool)))};
  }

  void mark_binding() {
    Rung* smallest = nullptr;
    for (Rung& rung : ladder_.rungs) {
      const bool counts = rung.applies && rung.kind == RungKind::capacity && rung.limit;
      if (counts && (smallest == nullptr || *rung.limit < *smallest->limit)) smallest = &rung;
    }
    if (smallest != nullptr) smallest->binding = true;
  }

  const Gpu& gpu_;
  const MachineFacts& machine_;
  Ladder ladder_;
  bool in_gtt_ = false;
  bool in_vram_ = false;
};

// Kernels from 6.10 on let an APU's hipMalloc take system memory; before, only the carve-out
// counted.
constexpr KernelVersion gtt_pool_since{6, 10, 0};

}  // namespace

std::string explain_system_limit(Bytes ram) {
  const std::string all = to_string(ram);
  const Bytes limit = kfd_system_limit(ram);
  return limit + 1536_MiB == ram - Bytes{ram.value / 64}
             ? fmt::format("{0} - {0}/64 - 1.50 GiB = {1}", all, to_string(limit))
             : fmt::format("half of ({0} - {0}/64) = {1}", all, to_string(limit));
}

Bytes kfd_system_limit(Bytes ram) {
  const Bytes most = ram - Bytes{ram.value / 64};
  return most >= 3_GiB ? most - 1536_MiB : Bytes{most.value / 2};
}

// The bank that KFD shows is what happened; only without it the driver's rule has to be repeated.
Fact<Route> infer_route(const Gpu& gpu, const MachineFacts& machine) {
  if (!gpu.integrated) return gpu.integrated.absent<Route>();
  if (!*gpu.integrated) return {Route::vram, gpu.integrated.source()};
  const Fact<Bytes>& pool = gpu.pool;
  if (pool) {
    const Source& seen = pool.source();
    if (gpu.vram_total && *gpu.vram_total == *pool) return {Route::vram, seen};
    if (machine.pages_limit && *machine.pages_limit == *pool) return {Route::gtt, seen};
    if (!gpu.vram_total) return gpu.vram_total.absent<Route>();
    // MI300A offers its local memory, whole or in slices, a few per mille off what sysfs says.
    const std::uint64_t percent = pool->value / (gpu.vram_total->value / 100 + 1);
    const bool is_vram = percent >= 98 ? percent <= 102 : is_mi300(gpu);
    return {is_vram ? Route::vram : Route::gtt, seen};
  }
  if (!gpu.vram_total) return gpu.vram_total.absent<Route>();
  if (!gpu.gtt_total) return gpu.gtt_total.absent<Route>();
  const auto version = machine.kernel ? parse_kernel_version(*machine.kernel) : std::nullopt;
  if (!version) return machine.kernel.absent<Route>();
  const bool takes_gtt = *version >= gtt_pool_since && *gpu.vram_total < *gpu.gtt_total;
  return {takes_gtt ? Route::gtt : Route::vram, gpu.gtt_total.source()};
}

Ladder make_ladder(const Gpu& gpu, const MachineFacts& machine) {
  return Builder(gpu, machine).build();
}

const Rung* Ladder::rung(std::string_view name) const {
  for (const Rung& rung : rungs) {
    if (rung.name == name) return &rung;
  }
  return nullptr;
}

const Rung* Ladder::binding() const {
  for (const Rung& rung : rungs) {
    if (rung.binding) return &rung;
  }
  return nullptr;
}

std::string_view to_string(FixedAt fixed_at) {
  switch (fixed_at) {
    case FixedAt::boot:
      return "boot";
    case FixedAt::driver_load:
      return "driver-load";
    case FixedAt::live:
      break;
  }
  return "live";
}

std::string_view to_string(RungKind kind) {
  switch (kind) {
    case RungKind::capacity:
      return "capacity";
    case RungKind::free:
      return "free";
    case RungKind::one_allocation:
      break;
  }
  return "one-allocation";
}

}  // namespace headroom::facts
