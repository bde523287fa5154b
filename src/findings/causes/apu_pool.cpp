// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/apu_pool.h"

#include <fmt/format.h>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/causes/amounts.h"
#include "findings/causes/failed_allocation.h"
#include "findings/memory_use.h"

namespace headroom::findings {
namespace {

constexpr std::uint64_t page_bytes = 4096;

bool is_near(Bytes a, Bytes b) {
  const double part = part_of(a, b);
  return part > 0.94 && part < 1.06;
}

void read_options(const facts::MachineFacts& machine, ApuPool& pool) {
  for (const char* module : {"ttm", "amdttm"}) {
    const auto* option = machine.option(module, "pages_limit");
    const auto pages = option != nullptr ? parse_u64(option->value) : std::nullopt;
    if (pages) pool.pages_limit = Bytes{*pages * page_bytes};
  }
  const auto* option = machine.option("amdgpu", "gttsize");
  const auto mib = option != nullptr ? parse_u64(option->value) : std::nullopt;
  if (mib) pool.gttsize = Bytes{*mib << 20U};
}

void take(ApuPool& pool, const std::optional<SeenAmount>& amount) {
  if (pool.limit || !amount) return;
  pool.limit = amount->amount;
  pool.seen = amount->seen;
}

// A job that planned with more memory than there is and was then killed failed for the same reason.
void read_projection(const logs::Observations& log, ApuPool& pool) {
  const logs::Observation* fit = log.last("llama-fit");
  if (pool.failure != nullptr || fit == nullptr || !log.seen("killed")) return;
  const auto wanted = amount_of(*fit, "wanted");
  if (!wanted || !pool.limit || *wanted <= *pool.limit) return;
  pool.failure = fit;
  pool.asked = wanted;
}

// Whether llama.cpp planned with as much free memory as the carve-out has, although GTT is larger.
bool plans_with_carve_out(const ApuPool& pool, const DeviceMemory& memory) {
  if (!memory.job_free || memory.job_free->seen->id() != "llama-fit") return false;
  if (!pool.carve_out && pool.gttsize) {
    return part_of(*pool.gttsize, memory.job_free->amount) > 3;
  }
  if (!pool.carve_out || !memory.gtt_total) return false;
  const double part = part_of(memory.job_free->amount, *pool.carve_out);
  return part > 0.5 && part < 1.1 && part_of(memory.gtt_total->amount, *pool.carve_out) > 1.5;
}

// Whether the carve-out is full where memory ran out, and GTT is not in use: the program gets the
// carve-out alone, as from kernels before 6.10.
bool fills_carve_out_alone(const DeviceMemory& memory) {
  if (!memory.vram_total || !memory.vram_used || !memory.gtt_total || !memory.gtt_used) {
    return false;
  }
  return memory.vram_total->amount < memory.gtt_total->amount &&
         part_of(memory.vram_used->amount, memory.vram_total->amount) > 0.85 &&
         part_of(memory.gtt_used->amount, memory.gtt_total->amount) < 0.1;
}

// Whether what a server lists as the GPU's memory is the half of the RAM that TTM allows. Of the
// RAM that is built in, the system keeps some, so that this half is a little less. A carve-out is a
// round part of it.
bool is_ttms_share(const Scene& scene, const DeviceMemory& memory) {
  if (!memory.job_total || !scene.ram || memory.job_total->amount != *scene.vram) return false;
  const double part = part_of(*scene.vram, *scene.ram);
  return part > 0.44 && part < 0.496;
}

}  // namespace

bool ApuPool::limit_is(std::optional<Bytes> other) const {
  return limit && other && is_near(*limit, *other);
}

bool ApuPool::limit_is_half_of_ram() const {
  if (!limit || !ram) return false;
  const double part = part_of(*limit, *ram);
  return part > 0.46 && part < 0.535;
}

bool ApuPool::carve_out_is_idle() const {
  return limit && carve_out && part_of(*carve_out, *limit) > 1.3;
}

std::optional<ApuPool> apu_pool(const LogSubject& subject) {
  const DeviceMemory memory = device_memory(subject);
  if (!memory.unified) return std::nullopt;
  ApuPool pool;
  read_options(subject.scene.machine, pool);
  if (memory.vram_total)
    pool.carve_out = memory.vram_total->amount;
  else if (subject.scene.vram && !is_ttms_share(subject.scene, memory))
    pool.carve_out = *subject.scene.vram;
  take(pool, memory.pool);
  if (const auto failed = failed_allocation(subject)) {
    pool.failure = failed->seen;
    pool.asked = failed->asked;
    if (failed->capacity && !failed->seen->id().starts_with("ggml")) {
      take(pool, SeenAmount{*failed->capacity, failed->seen});
    }
  }
  take(pool, memory.job_total);
  if (!pool.limit && plans_with_carve_out(pool, memory)) {
    pool.counts_carve_out = true;
    take(pool, memory.job_free);
  }
  if (!pool.limit && pool.failure != nullptr && fills_carve_out_alone(memory)) {
    pool.counts_carve_out = true;
    take(pool, memory.vram_total);
  }
  // hipMalloc uses the larger of the carve-out and GTT.
  const bool by_gtt =
      memory.gtt_total && (!pool.carve_out || *pool.carve_out < memory.gtt_total->amount);
  take(pool, by_gtt ? memory.gtt_total : memory.vram_total);
  take(pool, memory.job_free);
  read_projection(subject.log, pool);
  if (memory.ram)
    pool.ram = memory.ram->amount;
  else if (subject.scene.measured != nullptr && subject.scene.measured->machine.memory.total) {
    pool.ram = *subject.scene.measured->machine.memory.total;  // MemTotal is without the carve-out.
  } else if (subject.scene.ram) {
    pool.ram = saturating_sub(*subject.scene.ram, pool.carve_out.value_or(Bytes{}));
  }
  return pool;
}

void show_pool(const LogSubject& subject, const ApuPool& pool, Hypothesis& hypothesis) {
  if (pool.failure != nullptr) {
    hypothesis.evidence.push_back(
        show(subject, *pool.failure,
             pool.asked ? "the job asked for " + to_string(*pool.asked) + " and did not get it"
                        : "memory ran out"));
  }
  if (pool.seen != nullptr && pool.seen != pool.failure) {
    hypothesis.evidence.push_back(
        show(subject, *pool.seen, "the GPU can get " + to_string(*pool.limit)));
  }
  for (const auto& option : subject.scene.machine.options) {
    if (option.key != "pages_limit" && option.key != "gttsize") continue;
    hypothesis.evidence.push_back(
        {option.source.path, option.source.line, option.source.text,
         fmt::format("sets {}.{}={}", option.module, option.key, option.value)});
  }
}

std::vector<Step> steps_to_raise_pool(const LogSubject& subject, const ApuPool& pool) {
  const facts::MachineFacts& machine = subject.scene.machine;
  if (pool.ram) {
    const Bytes advised = advised_gpu_limit(*pool.ram);
    std::vector<Step> steps = steps_to_set(machine, machine.ttm_module, ttm_limit_of(advised));
    explain_first(fmt::format("Raise TTM's limit to {}", to_string(advised)), steps);
    return steps;
  }
  return {sentence_with("Choose a limit that leaves at least a quarter of the RAM, and at least 8 "
                        "GiB, to the system. It is given in pages of 4 KiB: GiB times 262144",
                        "echo 'options ttm pages_limit=PAGES page_pool_size=PAGES' | sudo tee "
                        "/etc/modprobe.d/ttm.conf"),
          sentence("Rebuild the initramfs."), reboot()};
}

std::string apu_name(const LogSubject& subject) {
  const SceneGpu* gpu = subject.scene.integrated_gpu();
  if (gpu == nullptr) return "The integrated GPU";
  // The tables list all chips of a target, so the first one is taken.
  const std::string name = gpu->name.substr(0, gpu->name.find(','));
  if (gpu->gfx.empty() || name.empty()) return name + gpu->gfx;
  return fmt::format("{} ({})", name, gpu->gfx);
}

}  // namespace headroom::findings
