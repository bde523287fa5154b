// SPDX-License-Identifier: Apache-2.0
#include "plan/fixes/gpu_limit_words.h"

#include <fmt/format.h>

#include "base/text.h"
#include "facts/largest_allocation.h"
#include "findings/memory_use.h"
#include "plan/boot/next_boot.h"

namespace headroom::plan {
namespace {

using facts::Gpu;
using facts::MachineFacts;

constexpr std::string_view ttm_words =
    "TTM's limit applies to GPUs that take their memory from RAM, as an APU does";

std::string place(const facts::ModuleOption& option) {
  return is_kernel_argument(option)
             ? "the kernel command line"
             : fmt::format("{} (line {})", option.source.path, option.source.line);
}

// The compute driver's limit, where it and not TTM's is what jobs will meet.
void warn_of_system_limit(const LimitStory& story, Bytes size, Change& change) {
  const facts::Rung* binding = story.then.ladder.binding();
  if (binding == nullptr || *binding->limit >= size) return;
  if (binding->name != "kfd-system" && !story.then.ladder.varies(binding->name)) return;
  change.warnings.push_back(fmt::format(
      "The compute driver has its own limit, {}{}. Jobs get that, not the {} that you asked for.",
      binding->at_most ? fmt::format("at most {}, ", to_string(*binding->limit)) : "",
      binding->limit.source().text, to_string(size)));
}

void warn_of_less(const LimitStory& story, Bytes size, Change& change) {
  const facts::Rung* binding = story.now.ladder.binding();
  if (binding == nullptr || *binding->limit <= size ||
      *binding->limit > *story.machine.memory.total) {
    return;
  }
  change.warnings.push_back(
      fmt::format("That is less than the {} that it can use now.", to_string(*binding->limit)));
}

// A parameter of the module that this machine's driver does not use.
void note_other_module(const MachineFacts& machine, Change& change) {
  const std::string other = machine.ttm_module == "ttm" ? "amdttm" : "ttm";
  const auto* option = machine.option(other, "pages_limit");
  if (option == nullptr) return;
  change.notes.push_back(
      fmt::format("{}.pages_limit={} in {} has no effect here, because this driver's memory "
                  "manager is the module {}.",
                  other, option->value, place(*option), machine.ttm_module));
}

}  // namespace

Error no_apu(const facts::Facts& facts) {
  if (facts.gpus.empty()) {
    return {Errc::unsupported, "expected an APU with an AMD GPU, found no AMD GPU",
            "headroom check"};
  }
  const Gpu& gpu = facts.gpus.front();
  if (!gpu.integrated) {
    return {Errc::unsupported,
            fmt::format("headroom could not find out whether {} is integrated ({}). {}", gpu.name,
                        to_string(gpu.integrated.missing()), ttm_words),
            "headroom check --verbose"};
  }
  const std::string memory = gpu.vram_total ? to_string(*gpu.vram_total) + " " : "";
  const std::string why =
      is_mi300(gpu)
          ? "its memory and the RAM are the same, and TTM's limit does not divide it"
          : fmt::format("a discrete card: hipMalloc uses its {}VRAM and nothing else", memory);
  return {Errc::unsupported, fmt::format("{}, and {} is {}", ttm_words, gpu.name, why),
          "headroom check   (shows what limits this GPU)"};
}

Error carve_out_pool(const Gpu& apu, const facts::Prediction& prediction) {
  const std::string carve_out = apu.vram_total ? to_string(*apu.vram_total) : "carve-out";
  const std::string how =
      prediction.steps.empty() ? "" : fmt::format(" ({})", prediction.steps.back());
  return {
      Errc::unsupported,
      fmt::format("hipMalloc takes {}'s memory from the BIOS carve-out, {}, and would do so with "
                  "that limit too{}",
                  apu.name, carve_out, how),
      "to use the RAM instead, set the carve-out (UMA frame buffer) to its smallest size in the "
      "BIOS, boot Linux 6.15 or later, and run this again. To see the effect first: headroom check "
      "--if carveout=512MiB"};
}

Error nothing_to_do(const Gpu& apu, const MachineFacts& next, Bytes asked,
                    const std::string& command) {
  const auto* option = next.option(next.ttm_module, "pages_limit");
  const std::string where = option == nullptr ? "" : " in " + place(*option);
  std::string message = fmt::format("nothing to do: {} has {} of RAM, set for every boot{}",
                                    apu.name, to_string(*apu.pool), where);
  if (*apu.pool == asked) return {Errc::invalid, std::move(message), "headroom check"};
  return {Errc::invalid,
          fmt::format("{}. That is more than the {} that headroom would choose here", message,
                      to_string(asked)),
          fmt::format("{} --size {}GiB   (to lower it)", command, asked.value / (1_GiB).value)};
}

Error only_restart(const MachineFacts& next, const std::vector<ParameterChange>& parameters) {
  std::vector<std::string> words;
  std::string where;
  for (const ParameterChange& parameter : parameters) {
    const auto* option = next.option(parameter.module, parameter.key);
    if (option != nullptr) where = " in " + place(*option);
    words.push_back(parameter.value ? parameter.name() + "=" + *parameter.value
                                    : "no " + parameter.name());
  }
  return {
      Errc::invalid,
      fmt::format(
          "nothing to do but reboot: {} is set for every boot{}, but this boot started without it",
          join(words, ", "), where),
      "sudo reboot   (then headroom check)"};
}

Error host_only(const MachineFacts& machine, const std::vector<ParameterChange>& parameters,
                const FixOptions& options, const std::string& command) {
  std::vector<std::string> words;
  std::string dropped;
  for (const ParameterChange& parameter : parameters) {
    if (parameter.value) {
      words.push_back(parameter.name() + "=" + *parameter.value);
    } else {
      dropped = ", without " + parameter.name();
    }
  }
  const std::string wanted = words.empty() ? "its command line" : join(words, " ");
  return {Errc::unsupported,
          fmt::format("this is a container ({}), and the limit belongs to the host's kernel, which "
                      "has to boot with {}{}",
                      *machine.container, wanted, dropped),
          "on the host: " + (options.words.size() > 3 ? join(options.words, " ") : command)};
}

void add_words(const LimitStory& story, const SizeChoice& choice, Change& change) {
  warn_of_less(story, choice.size, change);
  warn_of_system_limit(story, choice.size, change);
  const std::string& module = story.machine.ttm_module;
  change.notes.push_back(
      fmt::format("No memory is reserved. {} is the most that the GPU may take, {} pages of 4 KiB. "
                  "While no job takes it, the system uses it as before.",
                  to_string(choice.size), to_pages(choice.size)));
  if (const auto largest = facts::find_largest_allocation(story.then.ladder)) {
    change.notes.push_back(fmt::format("The largest single allocation is then {}: {}.",
                                       to_string(largest->bytes), largest->why));
  }
  change.notes.push_back(
      fmt::format("{}.page_pool_size gets the same value: pages that jobs give back are kept for "
                  "the next one.",
                  module));
  if (story.drops_gttsize) {
    change.notes.push_back(
        fmt::format("amdgpu.gttsize is deprecated and is removed: GTT then follows {}.pages_limit. "
                    "--keep-gttsize leaves it.",
                    module));
  }
  note_other_module(story.machine, change);
  const std::string carve_out =
      story.now.vram_total ? fmt::format(", now {},", to_string(*story.now.vram_total)) : "";
  change.notes.push_back(fmt::format(
      "Leave the BIOS carve-out (UMA frame buffer){} as it is: it comes from the same RAM. Run "
      "headroom undo before you enlarge it by {} or more; else the kernel may kill processes.",
      carve_out, to_string(choice.left)));
}

std::vector<std::string> notes_on_carve_out(const LimitStory& story, const std::string& setting) {
  if (!findings::on_gtt(story.now)) {
    const auto& gtt = story.now.gtt_total;
    return {
        fmt::format("hipMalloc takes this GPU's memory from the carve-out, with {} and without "
                    "it. The setting only decides how much RAM graphics may use (GTT{}).",
                    setting, gtt ? ", now " + to_string(*gtt) : "")};
  }
  std::vector<std::string> notes = {fmt::format(
      "hipMalloc takes system memory if GTT is larger than the carve-out. {} made it larger{}.",
      setting,
      setting == "amdgpu.gttsize" ? ", but hipMalloc gets TTM's limit, which is smaller than both"
                                  : "")};
  if (story.now.pool) {
    notes.push_back(fmt::format("It has {} now.", to_string(*story.now.pool)));
  }
  return notes;
}

}  // namespace headroom::plan
