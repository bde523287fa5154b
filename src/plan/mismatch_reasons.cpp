// SPDX-License-Identifier: Apache-2.0
#include "plan/mismatch_reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace headroom::plan {
namespace {

using facts::MachineFacts;
using facts::ModuleOption;

constexpr std::string_view automatic = "-1";  // What amdgpu reports of a parameter that is not set.

bool on_command_line(const ModuleOption& option) {
  return option.source.path == "/proc/cmdline";
}

std::string place(const ModuleOption& option) {
  return on_command_line(option)
             ? "the kernel command line"
             : fmt::format("{} (line {})", option.source.path, option.source.line);
}

const RungDifference* difference_of(const Comparison& comparison, std::string_view rung) {
  for (const RungDifference& one : comparison.rungs) {
    if (one.rung == rung) return &one;
  }
  return nullptr;
}

bool is_different(const Comparison& comparison, const std::string& name) {
  return std::any_of(comparison.parameters.begin(), comparison.parameters.end(),
                     [&](const ParameterDifference& one) { return one.name == name; });
}

class Reasons {
 public:
  Reasons(const Forecast& forecast, const Comparison& comparison, const facts::Facts& now)
      : forecast_(forecast), comparison_(comparison), now_(now) {}

  std::vector<std::string> find() {
    gone();
    for (const auto& [name, value] : forecast_.parameters) setting(name, value);
    memory();
    kernel();
    if (reasons_.empty()) {
      say("No setting of this boot explains it. headroom check --verbose shows where each limit "
          "comes from.");
    }
    return std::move(reasons_);
  }

 private:
  void say(std::string sentence) { reasons_.push_back(std::move(sentence)); }

  void gone() {
    for (const RungDifference& one : comparison_.rungs) {
      if (one.found) continue;
      say(now_.gpus.empty()
              ? "There is no AMD GPU: the driver amdgpu is not loaded, or was not loaded yet."
              : fmt::format("The GPU {} is gone, or is a different one now.", one.gpu));
    }
  }

  void setting(const std::string& name, const std::string& value) {
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return;
    const std::string module = name.substr(0, dot);
    const MachineFacts& machine = now_.machine;
    const bool of_ttm = module == "ttm" || module == "amdttm";
    if (of_ttm && module != machine.ttm_module) {
      if (!name.ends_with(".pages_limit")) return;
      return say(
          fmt::format("The driver's memory manager is now the module {}, which does not read {}. A "
                      "driver package was installed or removed.",
                      machine.ttm_module, name));
    }
    const ModuleOption* option = machine.option(module, name.substr(dot + 1));
    if (value == automatic) return dropped(name, option);
    if (option == nullptr) return absent(name, value);
    if (trim(option->value) != value) return overridden(name, value, *option);
    in_force(name, value, *option);
  }

  void dropped(const std::string& name, const ModuleOption* option) {
    if (option == nullptr || option->value == automatic) return;
    say(
        fmt::format("{}={} is set in {}, although the change had removed it. The old boot menu "
                    "entry was started, or somebody put it back.",
                    name, option->value, place(*option)));
  }

  // Of several parameters that are all absent, the first says it for all.
  void absent(const std::string& name, const std::string& value) {
    if (said_absent_) return;
    said_absent_ = true;
    say(
        fmt::format("{}={} is neither on the kernel command line of this boot nor in modprobe.d. "
                    "The old boot menu entry was started, or the boot loader does not read the "
                    "configuration that was changed.",
                    name, value));
  }

  void overridden(const std::string& name, const std::string& value, const ModuleOption& winner) {
    for (const ModuleOption& loser : now_.machine.options) {
      if (loser.module + "." + loser.key != name || trim(loser.value) != value) continue;
      return say(fmt::format("{}={} is set in {}, but {} sets {}, and that one wins.", name, value,
                             place(loser), place(winner), winner.value));
    }
    say(fmt::format("{} is {} in {}. The change had set it to {}.", name, winner.value,
                    place(winner), value));
  }

  void in_force(const std::string& name, const std::string& value, const ModuleOption& option) {
    if (is_different(comparison_, name)) {
      return say(on_command_line(option)
                     ? fmt::format("{}={} is on the kernel command line, but the kernel has "
                                   "another value. Something wrote to /sys/module after the boot.",
                                   name, value)
                     : fmt::format("{}={} is set in {}, but the driver was loaded without it. The "
                                   "initramfs of this boot contains an older copy of the file.",
                                   name, value, option.source.path));
    }
    const RungDifference* pool = difference_of(comparison_, "pool");
    if (name.ends_with(".pages_limit") && pool != nullptr && pool->found && in_system_memory()) {
      say(
          fmt::format("{} is {} now, but was {} when the driver loaded and sized the pool. It was "
                      "written later.",
                      name, value, to_string(*pool->found)));
    }
  }

  bool in_system_memory() const {
    return std::any_of(now_.gpus.begin(), now_.gpus.end(), [](const facts::Gpu& gpu) {
      return gpu.integrated && *gpu.integrated && gpu.ladder.route &&
             *gpu.ladder.route == facts::Route::gtt;
    });
  }

  void memory() {
    const RungDifference* carve_out = difference_of(comparison_, "vram");
    const RungDifference* ram = difference_of(comparison_, "ram");
    if (carve_out != nullptr && carve_out->found) {
      say(
          fmt::format("The BIOS carve-out is {} now and was {}. The RAM, and the limits that "
                      "depend on it, changed with it.",
                      to_string(*carve_out->found), to_string(carve_out->expected)));
    } else if (ram != nullptr && ram->found) {
      say(
          fmt::format("The system has {} of RAM now and had {}. Memory was added or removed, or "
                      "the kernel keeps more for itself (crashkernel=, mem=).",
                      to_string(*ram->found), to_string(ram->expected)));
    }
  }

  void kernel() {
    const facts::Text& running = now_.machine.kernel;
    if (!running || forecast_.kernel.empty() || *running == forecast_.kernel) return;
    say(
        fmt::format("Linux {} is running, but the prediction was made for {}. Kernels differ in "
                    "where an APU's memory comes from.",
                    *running, forecast_.kernel));
  }

  const Forecast& forecast_;
  const Comparison& comparison_;
  const facts::Facts& now_;
  std::vector<std::string> reasons_;
  bool said_absent_ = false;
};

}  // namespace

std::vector<std::string> find_mismatch_reasons(const Forecast& forecast,
                                               const Comparison& comparison,
                                               const facts::Facts& now) {
  return Reasons(forecast, comparison, now).find();
}

}  // namespace headroom::plan
