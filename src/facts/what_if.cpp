// SPDX-License-Identifier: Apache-2.0
#include "facts/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/kernel_release.h"

namespace headroom::facts {
namespace {

template <class T>
Fact<T> predicted(T value, std::string how) {
  return {std::move(value), Source{"predicted", 0, std::move(how)}};
}

Fact<Bytes> not_yet() {
  return {Missing{Why::not_applicable, "known after the reboot"}, Source{"predicted", 0, ""}};
}

// An APU whose memory is a share of the RAM by these settings.
bool is_subject(const Gpu& gpu) {
  return gpu.integrated && *gpu.integrated && !is_mi300(gpu);
}

std::string_view describe(PoolRule rule) {
  switch (rule) {
    case PoolRule::carve_out_only:
      return "hipMalloc takes only the carve-out";
    case PoolRule::always_gtt:
      return "hipMalloc takes system memory, whatever the carve-out";
    case PoolRule::smaller_carve_out:
      break;
  }
  return "hipMalloc takes system memory if the carve-out is smaller than GTT";
}

// What the running kernel does where its present choice shows it, else what its version says:
// distributions carry the changes back.
PoolRule observed_rule(const Gpu& gpu, PoolRule by_version) {
  const bool comparable = gpu.ladder.route && gpu.vram_total && gpu.gtt_total;
  if (!comparable) return by_version;
  const bool smaller = *gpu.vram_total < *gpu.gtt_total;
  const bool in_gtt = *gpu.ladder.route == Route::gtt;
  if (in_gtt && !smaller) return PoolRule::always_gtt;
  if (!in_gtt && smaller) return PoolRule::carve_out_only;
  const bool contradicts = in_gtt == (by_version == PoolRule::carve_out_only);
  return contradicts ? PoolRule::smaller_carve_out : by_version;
}

class Predictor {
 public:
  Predictor(const Facts& now, const WhatIf& change) : now_(now), change_(change) {
    prediction_.facts = now;
  }

  // Ubuntu names its packages "6.17.0-19.19~24.04.2" and their kernels "6.17.0-19-generic"; the
  // signature is what joins the two.
  void set_kernel(MachineFacts& machine) const {
    const auto& [major, minor, patch] = *change_.kernel;
    const std::string version = fmt::format("{}.{}.{}", major, minor, patch);
    const std::string& typed = change_.kernel_text;
    const std::size_t package = typed.find_first_of('-');
    const std::size_t point = typed.find('.', std::min(package, typed.size()));
    const bool is_ubuntu = now_.machine.kernel && [this] {
      const auto now = parse_kernel_release(*now_.machine.kernel);
      return now && now->distribution == "ubuntu";
    }();
    const bool names_package =
        package != std::string::npos && point != std::string::npos && is_ubuntu;
    machine.kernel = predicted(package == std::string::npos ? version : typed, "--if");
    machine.kernel_signature = {Missing{Why::not_applicable, "another kernel's"}, Source{}};
    if (!names_package) return;
    machine.kernel = predicted(typed.substr(0, point) + "-generic", "--if");
    machine.kernel_signature =
        predicted(fmt::format("Ubuntu {}-generic {}", typed, version), "--if");
  }

  Prediction run() {
    MachineFacts& machine = prediction_.facts.machine;
    machine.memory.available = not_yet();
    machine.memory.gpu_active = not_yet();
    const auto apu = std::find_if(now_.gpus.begin(), now_.gpus.end(), is_subject);
    machine.kfd_limits = {};  // They were computed when the driver loaded, and will be again.
    if (change_.kernel) {
      set_kernel(machine);
    } else if (apu != now_.gpus.end()) {
      machine.kfd_limits.rule = observe_kfd_rule(*apu, now_.machine);
    }
    if (apu == now_.gpus.end()) {
      say("No GPU here takes its memory from RAM, so these settings change nothing.");
    } else {
      find_ram(*apu);
      find_limit();
      find_gttsize();
    }
    for (const std::string& word : change_.without_effect) {
      say(word + " has no effect on how much memory a job gets, because no limit depends on it.");
    }
    for (Gpu& gpu : prediction_.facts.gpus) forget_use(gpu);
    for (const Gpu& gpu : prediction_.facts.gpus) say_what_varies(gpu);
    return std::move(prediction_);
  }

 private:
  void say(std::string sentence) { prediction_.steps.push_back(std::move(sentence)); }

  // MemTotal is the RAM less the carve-out (and what firmware took, which stays).
  void find_ram(const Gpu& apu) {
    Fact<Bytes>& total = prediction_.facts.machine.memory.total;
    if (change_.ram) {
      total = predicted(*change_.ram, "--if");
      say(fmt::format("RAM: {}, as given.", to_string(*change_.ram)));
      return;
    }
    if (!change_.carve_out || !total || !apu.vram_total) return;
    const Bytes sum = *total + *apu.vram_total;
    const Bytes left = saturating_sub(sum, *change_.carve_out);
    say(fmt::format("RAM: {} now + {} carve-out now - {} carve-out then = {}.", to_string(*total),
                    to_string(*apu.vram_total), to_string(*change_.carve_out), to_string(left)));
    total = predicted(left, "RAM + carve-out now - carve-out then");
  }

  // What boot sets: the option where there is one, else half of the RAM (ttm_device.c). A value
  // that was written into the live file does not outlive the reboot.
  void find_limit() {
    MachineFacts& machine = prediction_.facts.machine;
    const ModuleOption* option = machine.option(machine.ttm_module, "pages_limit");
    bool by_default = false;
    if (change_.pages_limit.value) {
      machine.pages_limit = predicted(*change_.pages_limit.value, "--if");
    } else if (option != nullptr && !change_.pages_limit.to_default) {
      machine.pages_limit =
          parse_pages_limit(Text(option->value, Source{option->source.path, 0, ""}));
    } else if (machine.memory.total) {
      const Bytes half = {round_down(machine.memory.total->value / 2, 4096)};
      machine.pages_limit = predicted(half, "half of the RAM");
      by_default = true;
    }
    if (!machine.pages_limit) return;
    say(fmt::format("TTM's limit: {}{}.", to_string(*machine.pages_limit),
                    by_default ? ", half of the RAM" : ", as set"));
  }

  void find_gttsize() {
    MachineFacts& machine = prediction_.facts.machine;
    if (change_.gttsize.to_default) {
      machine.gttsize = {Missing{Why::not_limited, "automatic"}, Source{"predicted", 0, "--if"}};
    } else if (change_.gttsize.value) {
      machine.gttsize = predicted(*change_.gttsize.value, "--if");
    }
    if (change_.no_system_limit) {
      machine.parameters["amdgpu.no_system_mem_limit"] =
          predicted(std::string(*change_.no_system_limit ? "Y" : "N"), "--if");
    }
  }

  void forget_use(Gpu& gpu) {
    gpu.holders.clear();
    facts::Accounting& account = gpu.accounting;
    for (Fact<Bytes>* figure : {&account.used, &account.here, &account.outside, &account.gone,
                                &account.baseline, &account.unattributed, &account.beyond}) {
      *figure = not_yet();
    }
    gpu.vram_used = not_yet();
    gpu.gtt_used = not_yet();
    if (is_subject(gpu)) choose_pool(gpu);
    gpu.ladder = make_ladder(gpu, prediction_.facts.machine);
  }

  // What no formula gives is said, with the bound that the ladder has.
  void say_what_varies(const Gpu& gpu) {
    for (const char* name : {"kfd-system", "kfd-ttm"}) {
      const Rung* rung = gpu.ladder.rung(name);
      if (rung == nullptr || !rung->applies || !rung->limit || !rung->at_most) continue;
      say(fmt::format("{} cannot be predicted: this kernel's compute driver takes {}, at most {}.",
                      name, rung->limit.source().text, to_string(*rung->limit)));
    }
  }

  void choose_pool(Gpu& gpu) {
    const MachineFacts& machine = prediction_.facts.machine;
    const auto version = machine.kernel ? parse_kernel_version(*machine.kernel) : std::nullopt;
    PoolRule rule = version ? pool_rule_of(*version) : PoolRule::smaller_carve_out;
    if (!change_.kernel) rule = observed_rule(gpu, rule);
    if (change_.carve_out) gpu.vram_total = predicted(*change_.carve_out, "--if");
    if (machine.gttsize) {
      gpu.gtt_total = predicted(*machine.gttsize, "gttsize");
    } else if (machine.pages_limit) {
      gpu.gtt_total = predicted(*machine.pages_limit, "TTM's limit");
    }
    if (!gpu.vram_total || !gpu.gtt_total || !machine.pages_limit) {
      gpu.pool = (gpu.vram_total ? machine.pages_limit : gpu.vram_total).absent<Bytes>();
      return;
    }
    const bool smaller = *gpu.vram_total < *gpu.gtt_total;
    const bool takes_gtt =
        rule == PoolRule::always_gtt || (rule == PoolRule::smaller_carve_out && smaller);
    gpu.pool = takes_gtt ? predicted(*machine.pages_limit, "TTM's limit")
                         : predicted(*gpu.vram_total, "the carve-out");
    say(fmt::format("Linux {}: {}. Carve-out {}, GTT {}: the pool is {}, {}.",
                    machine.kernel ? *machine.kernel : "of unknown version", describe(rule),
                    to_string(*gpu.vram_total), to_string(*gpu.gtt_total),
                    takes_gtt ? "TTM's limit" : "the carve-out", to_string(*gpu.pool)));
  }

  const Facts& now_;
  const WhatIf& change_;
  Prediction prediction_;
};

}  // namespace

PoolRule pool_rule_of(const KernelVersion& version) {
  if (version < KernelVersion{6, 10, 0}) return PoolRule::carve_out_only;
  if (version < KernelVersion{6, 15, 0}) return PoolRule::always_gtt;
  return PoolRule::smaller_carve_out;
}

Prediction predict(const Facts& now, const WhatIf& change) {
  return Predictor(now, change).run();
}

}  // namespace headroom::facts
