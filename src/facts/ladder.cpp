// SPDX-License-Identifier: Apache-2.0
#include "facts/ladder.h"

#include <fmt/format.h>

#include <utility>

#include "facts/gpu.h"
#include "facts/machine_facts.h"
#include "facts/what_if.h"

namespace headroom::facts {
namespace {

Source computed(std::string how) {
  return {"computed", 0, std::move(how)};
}

template <class T = Bytes>
Fact<T> absent(Why why, std::string text) {
  return {Missing{why, std::move(text)}, Source{}};
}

// Below for certain, whatever the rung's source rounds off: a copy that lost its last digits does
// not outbid what it was copied from.
bool is_below(const Rung& rung, Bytes other) {
  return *rung.limit < other && !may_be(rung, other);
}

class Builder {
 public:
  Builder(const Gpu& gpu, const MachineFacts& machine) : gpu_(gpu), machine_(machine) {
    ladder_.route = infer_route(gpu, machine);
    in_gtt_ = ladder_.route && *ladder_.route == Route::gtt;
    in_vram_ = ladder_.route && *ladder_.route == Route::vram;
    ladder_.kfd_rule = find_kfd_rule(gpu, machine, in_gtt_);
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
    rung.used = absent(Why::not_applicable, "it has no counter of its own");
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
    add("ttm", FixedAt::driver_load, in_gtt_, machine_.pages_limit).used = ttm_used();
    add("gtt", FixedAt::driver_load, in_gtt_, gpu_.gtt_total).used = gpu_.gtt_used;
    add("prefer-gtt", FixedAt::driver_load, in_gtt_, switch_state());
  }

  // Kernels that do not count it leave GTT, which is the most of it.
  Fact<Bytes> ttm_used() const {
    if (!machine_.memory.total) return machine_.memory.total.absent<Bytes>();
    return machine_.memory.gpu_active ? machine_.memory.gpu_active : gpu_.gtt_used;
  }

  Fact<Bytes> pool_used() const {
    if (!gpu_.pool) return gpu_.pool.absent<Bytes>();
    if (!ladder_.route) return ladder_.route.absent<Bytes>();
    return in_gtt_ ? gpu_.gtt_used : gpu_.vram_used;
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
    add("pool", FixedAt::driver_load, ladder_.route.known(), gpu_.pool).used = pool_used();
    const KfdLimits& kfd = machine_.kfd_limits;
    Rung& system = add("kfd-system", FixedAt::driver_load, in_gtt_, system_limit());
    system.used = kfd.system_used;
    mark_source(kfd.system_limit, depends_on_free_ram, system);
    Rung& ttm = add("kfd-ttm", FixedAt::driver_load, in_gtt_, ttm_limit_at_load());
    ttm.used = kfd.ttm_used;
    mark_source(
        kfd.ttm_limit, [](KfdRule rule) { return !copies_ttm(rule); }, ttm);
  }

  // The driver's own figure is rounded; a formula is exact, or a bound where it takes what is free.
  void mark_source(const Fact<Bytes>& own_figure, bool (*is_bound)(KfdRule), Rung& rung) const {
    if (!rung.limit) return;
    if (own_figure) {
      rung.unit = kfd_limits_unit;
    } else {
      rung.at_most = ladder_.kfd_rule && is_bound(*ladder_.kfd_rule);
    }
  }

  Fact<Bytes> system_limit() const {
    const Text* lifted = machine_.parameter("amdgpu.no_system_mem_limit");
    if (lifted != nullptr && *lifted && (**lifted == "Y" || **lifted == "1")) {
      return {Missing{Why::not_limited, "amdgpu.no_system_mem_limit is set"}, lifted->source()};
    }
    if (machine_.kfd_limits.system_limit) return machine_.kfd_limits.system_limit;
    const Fact<Bytes>& ram = machine_.memory.total;
    if (!ram) return ram.absent<Bytes>();
    if (!ladder_.kfd_rule) return ladder_.kfd_rule.absent<Bytes>();
    if (!depends_on_free_ram(*ladder_.kfd_rule)) {
      return {kfd_system_limit(*ram), computed(explain_system_limit(*ram))};
    }
    return {most_of_system(*ram), computed("15/16 of the RAM that is free when the driver loads")};
  }

  // The driver's own figure is in debugfs; without root, a pool in system memory shows it.
  Fact<Bytes> ttm_limit_at_load() const {
    if (machine_.kfd_limits.ttm_limit) return machine_.kfd_limits.ttm_limit;
    const Fact<Bytes>& ram = machine_.memory.total;
    if (ladder_.kfd_rule && !copies_ttm(*ladder_.kfd_rule)) {
      if (!ram) return ram.absent<Bytes>();
      return {most_of_ttm(*ram), computed("3/8 of the RAM that is free when the driver loads")};
    }
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
        absent(Why::not_asked, "only a running framework knows what it has reserved"));
  }

  Fact<Bytes> dmem_limit() const {
    Fact<Bytes> tightest = absent(Why::not_present, "");
    for (const Text& text : machine_.cgroup.dmem_max) {
      auto limit = parse_dmem(text, gpu_.pci);
      if (!text && text.missing().why != Why::not_present) return limit;  // It may hold any.
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
      if (counts && (smallest == nullptr || is_below(rung, *smallest->limit))) smallest = &rung;
    }
    if (smallest != nullptr) smallest->binding = true;
  }

  const Gpu& gpu_;
  const MachineFacts& machine_;
  Ladder ladder_;
  bool in_gtt_ = false;
  bool in_vram_ = false;
};

}  // namespace

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
  if (!machine.kernel) return machine.kernel.absent<Route>();
  const auto version = parse_kernel_version(*machine.kernel);
  if (!version) return {Missing{Why::not_understood, *machine.kernel}, machine.kernel.source()};
  const PoolRule rule = is_mi300(gpu) ? PoolRule::carve_out_only : pool_rule_of(*version);
  const bool smaller = *gpu.vram_total < *gpu.gtt_total;
  const bool takes_gtt =
      rule == PoolRule::always_gtt || (rule == PoolRule::smaller_carve_out && smaller);
  return {takes_gtt ? Route::gtt : Route::vram, gpu.gtt_total.source()};
}

Ladder make_ladder(const Gpu& gpu, const MachineFacts& machine) {
  return Builder(gpu, machine).build();
}

bool may_be(const Rung& rung, Bytes exact) {
  return exact >= *rung.limit && exact - *rung.limit < rung.unit;
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

const Rung* Ladder::ttm_at_load() const {
  const Rung* copy = rung("kfd-ttm");
  const bool is_copy = copy != nullptr && copy->limit && kfd_rule && copies_ttm(*kfd_rule);
  return is_copy ? copy : nullptr;
}

bool Ladder::varies(std::string_view name) const {
  if (!kfd_rule) return false;
  if (name == "kfd-system") return depends_on_free_ram(*kfd_rule);
  return name == "kfd-ttm" && !copies_ttm(*kfd_rule);
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
