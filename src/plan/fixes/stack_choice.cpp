// SPDX-License-Identifier: Apache-2.0
#include "plan/fixes/stack_choice.h"

#include <fmt/format.h>

#include "base/text.h"
#include "findings/memory_use.h"

namespace headroom::plan {
namespace {

using findings::Level;
using findings::StackRoute;
using findings::Suitability;
using knowledge::Target;

// The lower the better; nothing for a GPU that nothing is known to carry.
std::optional<int> rank(const facts::Gpu& gpu, const std::optional<Suitability>& suitability) {
  if (!suitability || suitability->route == StackRoute::none) return std::nullopt;
  const int level = suitability->level == Level::stable    ? 0
                    : suitability->level == Level::attempt ? 2
                                                           : 4;
  const bool integrated = gpu.integrated && *gpu.integrated;
  return level + (integrated ? 1 : 0);
}

// "3.8 to 3.12" → "python3.12".
std::string newest_python(const std::string& versions) {
  const auto words = split_words(versions);
  return words.empty() ? "python3" : "python" + std::string(words.back());
}

// pip's option for where the wheels are.
std::string_view place_of_wheels(const StackChoice& choice) {
  return choice.page ? "--find-links" : "--index-url";
}

bool take_device_wheels(const FixSubject& subject, const Target& target, StackChoice& choice) {
  if (target.therock == knowledge::TheRock::none) return false;
  choice.requirement = fmt::format("torch[device-{}]", target.gfx);
  choice.index = subject.tables.device_index;
  choice.python_versions = "3.11 or later";
  choice.python = "python3.12";
  choice.remarks.push_back(fmt::format("AMD's wheels (TheRock) include code for {}{}.", target.gfx,
                                       target.therock == knowledge::TheRock::ready
                                           ? " and are tested on it"
                                           : ", but are not tested on it"));
  choice.remarks.emplace_back(
      "This is the newest release of that index. Once it works, pin it: pip freeze > "
      "requirements.lock");
  return true;
}

bool take_old_stack(const FixSubject& subject, const Target& target, StackChoice& choice) {
  const knowledge::Stack* stack = subject.tables.stack(target.gfx);
  if (stack == nullptr) return false;
  choice.requirement = stack->torch;
  choice.index = subject.tables.torch_index + stack->index;
  choice.python_versions = stack->python;
  choice.python = newest_python(stack->python);
  choice.pinned = true;
  choice.remarks.push_back(
      fmt::format("This wheel is known to include {}. {}.", target.gfx, stack->evidence));
  if (!stack->libraries.empty()) {
    choice.remarks.push_back(
        "For fine-tuning, libraries that still work with this PyTorch: pip install " +
        stack->libraries);
  }
  if (!stack->also.empty()) choice.remarks.push_back("Also included in " + stack->also + ".");
  return true;
}

bool take_override(const FixSubject& subject, const Suitability& suitability, StackChoice& choice) {
  if (!suitability.override) return false;
  const std::string& value = suitability.override->value;
  const auto named = knowledge::target_of_override(value);
  const Target* near = named ? subject.tables.target(*named) : nullptr;
  if (near == nullptr || !take_device_wheels(subject, *near, choice)) return false;
  choice.environment.push_back("HSA_OVERRIDE_GFX_VERSION=" + value);
  choice.remarks.push_back(
      fmt::format("It runs another target's code: {}.", suitability.override->why));
  return true;
}

// Which GPU it is cannot be read in WSL; the wheels for WSL carry all that are supported there.
Result<StackChoice> choose_for_wsl(const FixSubject& subject) {
  const knowledge::Stack* stack = subject.tables.stack("wsl");
  if (stack == nullptr || subject.facts.wsl.kind != facts::WslKind::wsl2) {
    return Error{Errc::unsupported, "stack: WSL 1 cannot reach a GPU",
                 "in PowerShell on Windows: wsl --set-version NAME 2"};
  }
  StackChoice choice;
  choice.gfx = "wsl";
  choice.gpu = "the GPU that Windows shares with WSL";
  choice.requirement = stack->torch;
  choice.index = stack->index;
  choice.page = true;
  choice.python_versions = stack->python;
  choice.python = newest_python(stack->python);
  choice.pinned = true;
  choice.environment = {"HSA_ENABLE_DXG_DETECTION=1"};
  choice.remarks = {fmt::format("Its ROCm is {}. {}.", stack->rocm, stack->evidence),
                    "It also needs librocdxg from https://github.com/ROCm/librocdxg/releases, and "
                    "the ROCm packages of the same release.",
                    "Another way: " + stack->also + "."};
  return choice;
}

}  // namespace

Result<StackChoice> choose_stack(const FixSubject& subject) {
  if (subject.facts.wsl.is_wsl() && subject.facts.gpus.empty()) return choose_for_wsl(subject);
  const auto& gpus = subject.facts.gpus;
  const auto& judged = subject.diagnosis.suitability;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < gpus.size() && i < judged.size(); ++i) {
    const auto own = rank(gpus[i], judged[i]);
    if (own && (!best || *own < *rank(gpus[*best], judged[*best]))) best = i;
  }
  const Target* target =
      best && gpus[*best].gfx ? subject.tables.target(*gpus[*best].gfx) : nullptr;
  const Error nothing{Errc::unsupported,
                      "stack: no stack is known to support a GPU of this machine reliably",
                      "headroom check --verbose   (says what the machine can use instead)"};
  if (target == nullptr) return nothing;
  StackChoice choice;
  choice.gfx = target->gfx;
  choice.gpu = fmt::format("{} ({})", gpus[*best].name, target->gfx);
  const bool by_override = judged[*best]->route == StackRoute::override;
  const bool old = judged[*best]->route == StackRoute::old_stack;
  const bool found = by_override ? take_override(subject, *judged[*best], choice)
                     : old       ? take_old_stack(subject, *target, choice)
                                 : take_device_wheels(subject, *target, choice);
  if (!found) return nothing;
  const findings::Step& decides = judged[*best]->decides;
  if (decides.is_command()) choice.decides = decides.text;
  return choice;
}

std::string requirements_of(const StackChoice& choice) {
  std::string text = fmt::format("# For {}. Made by headroom fix stack.\n", choice.gpu);
  for (const std::string& remark : choice.remarks) text += "# " + remark + "\n";
  text += fmt::format("# Python {}.\n{} {}\n{}\n", choice.python_versions, place_of_wheels(choice),
                      choice.index, choice.requirement);
  return text;
}

std::string environment_of(const StackChoice& choice) {
  std::string text =
      fmt::format("# For {}. Made by headroom fix stack: set -a; . ./env; set +a\n", choice.gpu);
  if (choice.environment.empty()) text += "# This card needs no settings.\n";
  for (const std::string& line : choice.environment) text += line + "\n";
  return text;
}

std::vector<std::string> commands_of(const StackChoice& choice, const std::string& folder,
                                     WrittenBy by) {
  const bool by_hand = by == WrittenBy::the_user;
  std::vector<std::string> commands;
  if (by_hand) commands.push_back("mkdir -p " + folder);
  commands.push_back("cd " + folder);
  commands.push_back(choice.python + " -m venv venv");
  commands.emplace_back(". venv/bin/activate");
  commands.push_back(by_hand ? fmt::format("pip install \"{}\" {} {}", choice.requirement,
                                           place_of_wheels(choice), choice.index)
                             : "pip install -r requirements.txt");
  if (choice.environment.empty()) {
    commands.push_back("unset HSA_OVERRIDE_GFX_VERSION   # this wheel has code for " + choice.gfx);
  } else {
    if (by_hand) commands.push_back(fmt::format("echo '{}' > env", join(choice.environment, "\n")));
    commands.emplace_back("set -a; . ./env; set +a");
  }
  if (choice.environment.empty()) commands.push_back("# The list must name " + choice.gfx + ":");
  commands.emplace_back(
      "python -c \"import torch; print(torch.__version__, torch.version.hip, "
      "torch.cuda.get_arch_list())\"");
  if (choice.decides.empty()) return commands;
  // What it must print stands above it: behind so long a line nobody looks for it.
  constexpr std::string_view mark = "   # True True";
  const std::size_t at = choice.decides.find(mark);
  if (at == std::string::npos) {
    commands.push_back(choice.decides);
  } else {
    commands.push_back("# This must print True True" + choice.decides.substr(at + mark.size()) +
                       ":");
    commands.push_back(choice.decides.substr(0, at));
  }
  return commands;
}

}  // namespace headroom::plan
