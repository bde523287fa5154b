// SPDX-License-Identifier: Apache-2.0
// gfx-override-wrong: HSA_OVERRIDE_GFX_VERSION is in force, names a target whose code this GPU
// cannot run, and code on the GPU failed. The tables judge the pair; without a failure this is at
// most a runner-up.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/control_run.h"
#include "findings/causes/gpu_code.h"
#include "findings/causes/notices.h"
#include "findings/causes/recovery.h"
#include "findings/causes/told_topics.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Risk;
using logs::Observation;

const Observation* symptom_of(const LogSubject& subject) {
  return subject.log.first_of({"gpu-code-faulted", "no-binary-for-gpu", "invalid-device-function",
                               "invalid-kernel-image", "tensile-missing", "override-refused"});
}

// Whether the error is in the program's logic, without any code on the GPU.
bool failed_in_python_alone(const LogSubject& subject) {
  for (const Observation& one : subject.log.all()) {
    const auto role = one.signature->role;
    if (role != knowledge::Role::failure && role != knowledge::Role::consequence) continue;
    if (one.id() == "traceback" || one.id() == "torch-attribute-missing") continue;
    const std::string_view type = one.value("type");
    const bool of_logic = one.id() == "python-exception" &&
                          (type == "AttributeError" || type == "NameError" || type == "KeyError" ||
                           type == "ImportError" || type == "ModuleNotFoundError" ||
                           type == "SyntaxError" || type == "FileNotFoundError");
    if (!of_logic) return false;
  }
  return subject.log.seen("python-exception");
}

double weigh(const LogSubject& subject, Risk risk, bool symptom) {
  const bool failed = subject.log.first_with(knowledge::Role::failure) != nullptr ||
                      subject.log.first_with(knowledge::Role::consequence) != nullptr;
  switch (risk) {
    case Risk::dangerous:
      if (failed_in_python_alone(subject)) return 0.2;
      // The job got its result with it, whatever somebody complains of.
      if (!symptom && did_its_work(subject.log) && standing_failure(subject.log) == nullptr) {
        return 0.2;
      }
      if (!symptom && asks_about_a_notice(subject.log) != nullptr) return 0.2;
      return symptom ? 0.9 : failed || tells_of_trouble(subject.log) ? 0.55 : 0.2;
    case Risk::medium:
      return symptom ? 0.3 : 0.1;
    case Risk::low:
      break;
  }
  return symptom ? 0.2 : 0;
}

std::optional<Hypothesis> find_refused(const LogSubject& subject) {
  const Observation* refused = subject.log.first("override-refused");
  if (refused == nullptr) return std::nullopt;
  Hypothesis wrong;
  wrong.confidence = 0.9;
  wrong.title = "The runtime refuses the target in HSA_OVERRIDE_GFX_VERSION";
  wrong.reasons.emplace_back("Newer runtimes accept no target of another major version.");
  wrong.evidence.push_back(show(subject, *refused));
  wrong.fix.push_back(command("unset HSA_OVERRIDE_GFX_VERSION"));
  return wrong;
}

// The value that makes a card run as the target: gfx1030 → "10.3.0"; minor and step are
// hexadecimal.
std::optional<std::string> override_value(std::string_view gfx) {
  if (!gfx.starts_with("gfx") || gfx.size() < 6) return std::nullopt;
  const auto minor = parse_hex(gfx.substr(gfx.size() - 2, 1));
  const auto step = parse_hex(gfx.substr(gfx.size() - 1));
  if (!minor || !step) return std::nullopt;
  return fmt::format("{}.{}.{}", gfx.substr(3, gfx.size() - 5), *minor, *step);
}

// rocminfo prints a card's own name beside the target that it runs as: another one than the card's
// is an override's doing, though no line shows the variable.
std::optional<Hypothesis> find_disguised(const LogSubject& subject) {
  for (const SceneGpu& gpu : subject.scene.gpus) {
    const auto cards = gpus_of_text(gpu.name, subject.tables);
    if (gpu.gfx.empty() || cards.size() != 1 || cards.front().gfx == gpu.gfx) continue;
    // A person's statement may name two GPUs in any order.
    const auto& names = subject.log_names;
    if (std::find(names.begin(), names.end(), gpu.source.path) == names.end()) continue;
    const auto* own = subject.tables.target(cards.front().gfx);
    const auto forced = override_value(gpu.gfx);
    if (own == nullptr || !forced) continue;
    const auto judged = knowledge::judge_override(*own, *forced);
    if (!judged || judged->risk != Risk::dangerous) continue;
    Hypothesis wrong;
    wrong.confidence = symptom_of(subject) != nullptr ? 0.85 : 0.55;
    wrong.title = fmt::format("{} is listed as {}, but it is a {}", gpu.name, gpu.gfx, own->gfx);
    wrong.reasons = {"Only HSA_OVERRIDE_GFX_VERSION makes a card run as another target.",
                     fmt::format("On {}: {}.", own->gfx, judged->why)};
    wrong.evidence.push_back(
        {gpu.source.path, gpu.source.line, gpu.source.text, "a target that the card is not"});
    wrong.fix = {command("unset HSA_OVERRIDE_GFX_VERSION",
                         "(also remove it from compose files, systemd units and profiles)")};
    return wrong;
  }
  return std::nullopt;
}

// The runtime asks whether the variable is there, not whether it says anything; it cannot read ""
// as a target, and lists no GPU (ROCm/ROCR-Runtime#354).
std::optional<Hypothesis> find_empty(const LogSubject& subject) {
  const Observation* empty = subject.log.first("override-empty");
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = torch_sees_none(subject);
  if (empty == nullptr || lost == nullptr) return std::nullopt;
  Hypothesis wrong;
  wrong.confidence = 0.85;
  wrong.title = "HSA_OVERRIDE_GFX_VERSION is set, but empty";
  wrong.reasons = {
      "An empty value is not the same as none: the runtime tries to read it as a target, fails, "
      "and "
      "lists no GPU.",
      "${NAME:-} in a compose file, and docker run -e NAME without a value, set it so."};
  wrong.evidence = {show(subject, *empty, "set to nothing"),
                    show(subject, *lost, logs::describe(*lost))};
  wrong.fix = {command("unset HSA_OVERRIDE_GFX_VERSION",
                       "(in compose files remove the line; it cannot be left empty)")};
  return wrong;
}

// One override holds for every GPU. A card that it suits may need it, and another one then runs
// code that it cannot.
std::optional<Hypothesis> find_for_another_card(const LogSubject& subject) {
  const facts::Setting* setting = subject.scene.setting("HSA_OVERRIDE_GFX_VERSION");
  const auto named =
      setting != nullptr ? knowledge::target_of_override(setting->value) : std::nullopt;
  if (!named) return std::nullopt;
  const SceneGpu *victim = nullptr, *suited = nullptr;
  std::optional<knowledge::Override> harm;
  for (const SceneGpu& gpu : subject.scene.gpus) {
    const auto* target = subject.tables.target(gpu.gfx);
    if (target == nullptr || gpu.integrated.value_or(false)) continue;
    const auto judged = knowledge::judge_override(*target, setting->value);
    if (gpu.gfx == *named || (judged && judged->risk != Risk::dangerous)) suited = &gpu;
    if (gpu.gfx == *named || !judged || judged->risk != Risk::dangerous) continue;
    victim = &gpu;
    harm = judged;
  }
  const Observation* symptom = symptom_of(subject);
  if (symptom == nullptr) {
    symptom = subject.log.first_of(
        {"hw-exception", "memory-access-fault", "hsa-exception", "ring-timeout", "gpu-reset"});
  }
  if (victim == nullptr || suited == nullptr || symptom == nullptr) return std::nullopt;
  Hypothesis wrong;
  wrong.confidence = 0.8;
  wrong.title =
      fmt::format("HSA_OVERRIDE_GFX_VERSION={} suits {}, and {} gets it too", setting->value,
                  describe_gpu(subject, suited->gfx), describe_gpu(subject, victim->gfx));
  wrong.reasons = {"The variable holds for all GPUs of the process.",
                   fmt::format("On {}: {}.", victim->gfx, harm->why)};
  wrong.evidence = {
      show(subject, *symptom, logs::describe(*symptom)),
      {setting->source.path, setting->source.line, setting->source.text, "for all GPUs"}};
  wrong.fix = {
      sentence(fmt::format("Set it for one GPU: HSA_OVERRIDE_GFX_VERSION_N={} with N as the GPU's "
                           "number in rocminfo's order from 0 (ROCm 6.4 and later), and unset "
                           "HSA_OVERRIDE_GFX_VERSION.",
                           setting->value)),
      sentence("Or run one process for each card: the override and HIP_VISIBLE_DEVICES for the "
               "card that needs it, neither for the other.")};
  wrong.alternatives = {{"gpu-hang", 0.15, "the same job with the variable unset"}};
  return wrong;
}

// The line that says that it works with another value of the variable than the one in force.
const Observation* works_with_another(const LogSubject& subject, std::string_view value) {
  for (const Observation* told : subject.log.of("setting-outcome")) {
    const std::string_view other = told->value("to");
    const bool is_override = told->value("tried") == "HSA_OVERRIDE_GFX_VERSION";
    if (!is_override || other == value || other == "0" || other.empty()) continue;
    if (told_to_work(*told)) return told;
  }
  return nullptr;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (auto other = find_for_another_card(subject)) return other;
  const auto forced = find_override(subject);
  if (!forced) {
    if (auto empty = find_empty(subject)) return empty;
    auto refused = find_refused(subject);
    return refused ? refused : find_disguised(subject);
  }
  const Observation* symptom = symptom_of(subject);
  Hypothesis wrong;
  wrong.confidence = weigh(subject, forced->judged.risk, symptom != nullptr);
  // The wheels have the code, and the GPU refuses it.
  const auto code = find_no_code(subject);
  const bool is_refused = code && !code->add_on && symptom != nullptr &&
                          subject.log.any_of({"torch-device", "torch-arch", "device-in-use"}) &&
                          names_wheels_target(subject, *forced);
  if (is_refused && forced->judged.risk == Risk::medium) wrong.confidence = 0.55;
  if (wrong.confidence <= 0) return std::nullopt;
  constexpr double if_it_fails_without = 0.4;
  if (forced->fails_without) wrong.confidence *= if_it_fails_without;
  const std::string& value = forced->value;
  wrong.title = fmt::format("HSA_OVERRIDE_GFX_VERSION={} is wrong for {}", value,
                            describe_gpu(subject, forced->own));
  wrong.reasons = {fmt::format("On {}: {}.", forced->own, forced->judged.why),
                   "Code of another target faults or hangs as if the hardware were broken."};
  wrong.evidence.push_back(forced->evidence);
  if (symptom != nullptr) {
    wrong.evidence.insert(wrong.evidence.begin(),
                          show(subject, *symptom, logs::describe(*symptom)));
  }
  wrong.fix = {command("unset HSA_OVERRIDE_GFX_VERSION",
                       "(also remove it from compose files, systemd units and profiles)")};
  const auto* target = subject.tables.target(forced->own);
  for (const auto& [other, judged] : target->overrides) {
    if (judged.risk == Risk::dangerous || !knowledge::target_of_override(other)) continue;
    wrong.fix.push_back(
        sentence_with(fmt::format("If the program has no code for {}, use this value (risk: {})",
                                  forced->own, to_string(judged.risk)),
                      "export HSA_OVERRIDE_GFX_VERSION=" + other));
  }
  wrong.fix.push_back(look("headroom check", "(lists every place where the variable is set)"));
  wrong.alternatives = {{"gfx-target-missing", 0.1, "the same job without the variable"}};
  if (const Observation* other = works_with_another(subject, value)) {
    wrong.confidence = std::max(wrong.confidence, 0.85);
    wrong.evidence.push_back(show(subject, *other, "with another value it works"));
  }
  return wrong;
}

}  // namespace

constinit const CauseRule gfx_override_wrong_cause = {
    .id = "gfx-override-wrong",
    .meaning = "HSA_OVERRIDE_GFX_VERSION names a target whose code this GPU cannot run.",
    .why =
        "Targets differ in instructions and registers. Kernels of another target fault, hang or "
        "are refused. Often the setting was made for an earlier card.",
    .fix = "Remove the variable, or set the closely related target that is known to work.",
    .explains =
        "gpu-hang gfx-target-missing gfx-target-dropped app-bug crash-loop framework-bug "
        "hw-error gpu-unsupported firmware-bad",
    .find = find,
};

}  // namespace headroom::findings
