// SPDX-License-Identifier: Apache-2.0
#include "plan/fixes/gpu_limit.h"

#include <fmt/format.h>

#include "base/text.h"
#include "facts/what_if.h"
#include "findings/memory_use.h"
#include "plan/boot/boot_steps.h"
#include "plan/boot/next_boot.h"
#include "plan/confirm_unit.h"
#include "plan/fixes/gpu_limit_words.h"
#include "plan/forecast.h"
#include "plan/memory_size.h"

namespace headroom::plan {
namespace {

using facts::Gpu;
using facts::MachineFacts;

class Planner {
 public:
  Planner(const FixSubject& subject, const LimitWish& wish)
      : subject_(subject),
        wish_(wish),
        machine_(subject.facts.machine),
        next_(at_next_boot({subject.boot, subject.facts.machine})),
        command_(fmt::format("headroom fix {}", wish.fix)) {}

  Result<Change> plan() {
    apu_ = find_apu(subject_.facts);
    if (apu_ == nullptr) return no_apu(subject_.facts);
    if (!machine_.memory.total) {
      return Error{Errc::not_found,
                   fmt::format("expected the RAM in /proc/meminfo, found {}",
                               to_string(machine_.memory.total.missing())),
                   "headroom check --verbose"};
    }
    if (!apu_->vram_total || !apu_->ladder.route) return unknown_route();
    HEADROOM_CHECK(choose());
    if (machine_.in_container())
      return host_only(machine_, parameters_, subject_.options, command_);
    if (is_in_force()) return nothing_to_do(*apu_, next_, choice_->size, command_);
    HEADROOM_TRY(BootSteps steps, plan_parameters({subject_.boot, machine_, subject_.options.trial},
                                                  parameters_, subject_.options.via));
    if (steps.steps.empty()) return only_restart(next_, parameters_);
    Change change;
    change.fix = wish_.fix;
    change.words = subject_.options.words;
    change.needs_reboot = true;
    change.forecast = make_forecast(prediction_, expected_parameters());
    describe(change);
    add_to(change, std::move(steps));
    add_confirm_unit(change, subject_.boot, subject_.options);
    return change;
  }

 private:
  bool size_was_given() const { return !subject_.options.size.empty(); }

  // Without these two nobody can say which limit jobs get, nor what a change would bring.
  Error unknown_route() const {
    const std::string why = apu_->vram_total ? to_string(apu_->ladder.route.missing())
                                             : to_string(apu_->vram_total.missing());
    return {Errc::not_found,
            fmt::format("expected to know whether jobs on {} get system memory or its carve-out "
                        "(mem_info_vram_total of {}), found {}",
                        apu_->name, apu_->pci, why),
            "headroom check --verbose"};
  }

  // The size, what it would bring, and whether it brings anything.
  Status choose() {
    const bool gttsize_set =
        machine_.gttsize.known() || next_.option("amdgpu", "gttsize") != nullptr;
    drops_gttsize_ = gttsize_set && !subject_.options.keep_gttsize;
    const Bytes ram = *machine_.memory.total;
    SizeRequest request{command_, subject_.options.size, subject_.options.reserve, ram};
    if (!size_was_given() && !subject_.options.reserve && wish_.usual &&
        *wish_.usual + least_left <= ram) {
      request.size = std::to_string(wish_.usual->value);
    }
    const auto choice = choose_size(request);
    if (choice) {
      choice_ = *choice;
      predict_with(choice_->size);
      if (takes_system_memory()) return Done{};
    }
    // A setting that switched the pool away from a larger carve-out: without it the carve-out is
    // the pool again, and no limit is needed.
    const bool limit_set = next_.option(machine_.ttm_module, "pages_limit") != nullptr;
    const bool limit_switched = limit_set && findings::on_gtt(*apu_);
    if (!size_was_given() && (drops_gttsize_ || limit_switched)) {
      drops_limit_ = limit_switched && choice_.has_value();
      choice_.reset();
      predict_with(std::nullopt);
      if (!takes_system_memory()) return Done{};
    }
    if (!choice) return choice.error();
    return carve_out_pool(*apu_, prediction_);
  }

  void predict_with(std::optional<Bytes> size) {
    parameters_.clear();
    what_if_ = {};
    if (size) {
      const std::string pages = std::to_string(to_pages(*size));
      parameters_.push_back({machine_.ttm_module, "pages_limit", pages});
      parameters_.push_back({machine_.ttm_module, "page_pool_size", pages});
      what_if_.pages_limit.value = size;
    }
    if (drops_limit_) {
      for (const char* key : {"pages_limit", "page_pool_size"}) {
        if (next_.option(machine_.ttm_module, key) == nullptr) continue;
        parameters_.push_back({machine_.ttm_module, key, std::nullopt});
      }
      what_if_.pages_limit.to_default = true;
    }
    if (drops_gttsize_) {
      parameters_.push_back({"amdgpu", "gttsize", std::nullopt});
      what_if_.gttsize.to_default = true;
    }
    prediction_ = facts::predict(subject_.facts, what_if_);
  }

  const Gpu& predicted_apu() const { return *find_apu(prediction_.facts); }
  bool takes_system_memory() const { return findings::on_gtt(predicted_apu()); }

  // What jobs get now is what every boot brings: the driver's pool tells the one, the boot loader's
  // and modprobe's files the other.
  bool is_in_force() const {
    if (!choice_ || drops_gttsize_ || !apu_->pool) return false;
    const auto* option = next_.option(machine_.ttm_module, "pages_limit");
    if (option == nullptr) return false;
    const bool set = option->value == std::to_string(to_pages(choice_->size));
    if (set && *apu_->pool == choice_->size) return true;
    const bool is_safe = *apu_->pool + least_left <= *machine_.memory.total;
    return wish_.only_raise && !size_was_given() && !subject_.options.reserve && is_safe &&
           *apu_->pool > choice_->size;
  }

  std::vector<std::pair<std::string, std::string>> expected_parameters() const {
    std::vector<std::pair<std::string, std::string>> expected;
    for (const ParameterChange& parameter : parameters_) {
      // What TTM reads without a setting depends on the RAM; the forecast's rungs tell it.
      if (!parameter.value && parameter.module == machine_.ttm_module) continue;
      expected.emplace_back(parameter.name(), parameter.value.value_or("-1"));
    }
    return expected;
  }

  void describe(Change& change) const {
    const LimitStory story{*apu_, predicted_apu(), next_, drops_gttsize_};
    if (!choice_) {
      const std::string setting = drops_limit_ ? parameters_.front().name() : "amdgpu.gttsize";
      const bool switches = findings::on_gtt(*apu_);
      change.title = fmt::format(
          "Remove {}{} {} {} its {} carve-out", setting, switches ? ", so that" : ";", apu_->name,
          switches ? "uses" : "keeps to", to_string(*predicted_apu().vram_total));
      if (!switches) {
        change.warnings.emplace_back(
            "This gives jobs no more memory, because they get the carve-out alone with the setting "
            "and without it. headroom check says what gives them more.");
      }
      change.notes = notes_on_carve_out(story, setting);
      return;
    }
    const bool lower = apu_->pool && *apu_->pool > choice_->size;
    change.title = fmt::format("{} {} {} {} of RAM", lower ? "Limit" : "Let", apu_->name,
                               lower ? "to" : "use", to_string(choice_->size));
    change.warnings = choice_->warnings;
    warn_of_unsuited(change);
    change.notes = choice_->notes;
    add_words(story, *choice_, change);
  }

  void warn_of_unsuited(Change& change) const {
    const auto index = static_cast<std::size_t>(apu_ - subject_.facts.gpus.data());
    const auto& judged = subject_.diagnosis.suitability;
    if (index >= judged.size() || !judged[index]) return;
    if (judged[index]->level != findings::Level::no) return;
    change.warnings.push_back(
        fmt::format("headroom check calls this GPU unsuitable for ROCm: {}. More memory helps "
                    "Vulkan and graphics alone.",
                    judged[index]->summary));
  }

  const FixSubject& subject_;
  const LimitWish& wish_;
  const MachineFacts& machine_;
  const MachineFacts next_;  // With the options that its next boot will have.
  std::string command_;
  const Gpu* apu_ = nullptr;
  bool drops_gttsize_ = false;
  bool drops_limit_ = false;          // TTM's limit goes, and none is set.
  std::optional<SizeChoice> choice_;  // nullopt: settings only go.
  std::vector<ParameterChange> parameters_;
  facts::WhatIf what_if_;
  facts::Prediction prediction_;
};

}  // namespace

const Gpu* find_apu(const facts::Facts& facts) {
  for (const Gpu& gpu : facts.gpus) {
    if (gpu.integrated && *gpu.integrated && !is_mi300(gpu)) return &gpu;
  }
  return nullptr;
}

Result<Change> plan_gpu_limit(const FixSubject& subject, const LimitWish& wish) {
  return Planner(subject, wish).plan();
}

}  // namespace headroom::plan
