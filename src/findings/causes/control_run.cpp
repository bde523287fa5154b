// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/control_run.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "findings/causes/choice.h"
#include "findings/causes/contradiction.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;
using logs::Observations;

// A cause that a setting brings about, or that it works around.
struct Suspect {
  std::string_view setting;
  std::string_view cause;
  bool when_set;  // Whether the cause needs the setting, or its absence.
  // How sure a run that works is by itself, without other signs of the cause; 0 if it is not
  // enough.
  double alone = 0;
  bool is_cleared = true;  // Whether the same failure in both runs speaks against the cause.
  // The GPUs that there have to be for a run to show it by itself.
  enum class Needs { nothing, several_cards, integrated } needs = Needs::nothing;
};

using Needs = Suspect::Needs;

constexpr Suspect suspects[] = {
    {"HSA_OVERRIDE_GFX_VERSION", "gfx-override-wrong", true, 0.75},
    {"HSA_OVERRIDE_GFX_VERSION", "gfx-target-missing", false, 0.75, false},
    {"HSA_ENABLE_DXG_DETECTION", "host-without-kfd", false, 0.7},
    {"HSA_ENABLE_DXG_DETECTION", "rocm-version-mismatch", true, 0},
    {"HIP_VISIBLE_DEVICES", "device-index", true, 0},
    {"ROCR_VISIBLE_DEVICES", "device-index", true, 0},
    {"CUDA_VISIBLE_DEVICES", "device-index", true, 0},
    {"HIP_VISIBLE_DEVICES", "igpu-selected", false, 0.65, true, Needs::integrated},
    {"ROCR_VISIBLE_DEVICES", "igpu-selected", false, 0.65, true, Needs::integrated},
    {"HIP_VISIBLE_DEVICES", "rccl-p2p", false, 0.65, false, Needs::several_cards},
    {"ROCR_VISIBLE_DEVICES", "rccl-p2p", false, 0.65, false, Needs::several_cards},
    {"CUDA_VISIBLE_DEVICES", "rccl-p2p", false, 0.65, false, Needs::several_cards},
    {"TORCH_BLAS_PREFER_HIPBLASLT", "unsupported-option", true, 0.75},
    {"ROCBLAS_USE_HIPBLASLT", "unsupported-option", true, 0.75},
    {"VLLM_ROCM_USE_AITER", "unsupported-option", true, 0.75},
    {"SGLANG_USE_AITER", "unsupported-option", true, 0.75},
    {"MIOPEN_USER_DB_PATH", "miopen-db", false, 0.65},
    {"--privileged", "device-permission", false, 0.65},
    {"--group-add", "device-permission", false, 0.65},
    {"PYTORCH_ALLOC_CONF", "unsupported-option", true, 0.7},
    {"PYTORCH_HIP_ALLOC_CONF", "unsupported-option", true, 0.7},
    {"PYTORCH_CUDA_ALLOC_CONF", "unsupported-option", true, 0.7},
    {"GGML_CUDA_ENABLE_UNIFIED_MEMORY", "managed-memory", true, 0.75},
    {"HSA_XNACK", "managed-memory", true, 0.75},
    // Without it a GPU that could retry its faults does not, and managed memory waits or faults.
    {"HSA_XNACK", "managed-memory", false, 0.75},
    {"NCCL_P2P_DISABLE", "rccl-p2p", false, 0.75},
    {"LD_LIBRARY_PATH", "missing-library", false, 0},
    {"sudo", "device-permission", false, 0.6},
    // A build for CUDA sees no GPU whichever group asks.
    {"sg", "wrong-wheel", true, 0},
};

// A variable that nobody here knows: where a run fails with it alone, it asks for something that
// does not work.
constexpr Suspect any_variable = {"", "unsupported-option", true, 0.6};

bool is_suspected(std::string_view setting) {
  return std::any_of(std::begin(suspects), std::end(suspects),
                     [&](const Suspect& one) { return one.setting == setting; });
}

bool is_variable(std::string_view setting) {
  return std::all_of(setting.begin(), setting.end(), [](char one) {
    return (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_';
  });
}

// What a setting may bring about; several may share one.
std::vector<Suspect> suspects_of(std::string_view setting) {
  if (!is_suspected(setting) && is_variable(setting)) return {any_variable};
  std::vector<Suspect> found;
  for (const Suspect& one : suspects) {
    if (one.setting == setting) found.push_back(one);
  }
  return found;
}

// Whether the machine has the GPUs that the cause needs. A listing of several is one line each.
bool has_needed(const LogSubject& subject, Needs needs) {
  if (needs == Needs::nothing) return true;
  const bool integrated = subject.scene.integrated_gpu() != nullptr;
  if (needs == Needs::integrated) return integrated;
  const auto listed = subject.log.of("ggml-device");
  const bool second = std::any_of(listed.begin(), listed.end(), [](const Observation* one) {
    return one->value("index") != "0";
  });
  return !integrated && second;
}

bool worked(const TypedRun& run) {
  return run.works || run.is_quiet;
}

// The one setting that only `with` has; nothing if they differ otherwise.
std::optional<std::string> only_difference(const TypedRun& with, const TypedRun& without) {
  if (with.program != without.program) return std::nullopt;
  if (with.settings.size() != without.settings.size() + 1) return std::nullopt;
  std::optional<std::string> only;
  for (const auto& [name, value] : with.settings) {
    const auto found = without.settings.find(name);
    if (found != without.settings.end() && found->second == value) continue;
    if (found != without.settings.end() || only) return std::nullopt;
    only = name;
  }
  return only;
}

std::string name_lines(const ControlRun& run) {
  const Observation& with = *run.with.command;
  const Observation& without = *run.without.command;
  return fmt::format("{}:{} and {}:{}", with.log_name, with.line, without.log_name, without.line);
}

// The command that speaks against the cause, and what it says of the other one.
Evidence show_run(const TypedRun& run, std::string meaning) {
  const Observation& typed = *run.command;
  return {typed.log_name, static_cast<int>(typed.line), typed.text, std::move(meaning)};
}

void raise_by(const ControlRun& run, bool works_with, Hypothesis& hypothesis) {
  constexpr double doubt_that_stays = 0.5;
  hypothesis.confidence = 1 - (1 - hypothesis.confidence) * doubt_that_stays;
  hypothesis.reasons.push_back(fmt::format("The same command works {} {} and fails {} it ({}).",
                                           works_with ? "with" : "without", run.setting,
                                           works_with ? "without" : "with", name_lines(run)));
}

}  // namespace

namespace {

// How the setting may be to blame: of two ways the one that the run shows.
const Suspect* suspect_of(const ControlRun& run, std::string_view cause) {
  const Suspect* found = nullptr;
  for (const Suspect& one : suspects) {
    if (one.setting != run.setting || one.cause != cause) continue;
    if (found == nullptr || worked(one.when_set ? run.without : run.with)) found = &one;
  }
  return found;
}

}  // namespace

std::vector<ControlRun> find_control_runs(const Observations& log) {
  std::vector<ControlRun> found;
  const std::vector<TypedRun> runs = find_typed_runs(log);
  for (const TypedRun& with : runs) {
    for (const TypedRun& without : runs) {
      const auto setting = only_difference(with, without);
      if (!setting) continue;
      const bool both_fail = with.failure != nullptr && without.failure != nullptr;
      const bool same = both_fail && with.failure->id() == without.failure->id();
      const bool one_works = (worked(with) && without.failure != nullptr) ||
                             (worked(without) && with.failure != nullptr);
      if (same || one_works) found.push_back({*setting, with, without, same});
    }
  }
  return found;
}

void weigh_control_runs(const std::vector<ControlRun>& runs, std::string_view cause,
                        Hypothesis& hypothesis) {
  constexpr double keeps = 0.3;
  for (const ControlRun& run : runs) {
    const Suspect* suspect = suspect_of(run, cause);
    if (suspect != nullptr) {
      const Suspect& one = *suspect;
      const bool works_as_suspected = worked(one.when_set ? run.without : run.with);
      if (run.same_failure && !one.is_cleared) return;
      if (run.same_failure) {
        speak_against(hypothesis, keeps,
                      show_run(one.when_set ? run.without : run.with,
                               fmt::format("the same failure comes with {0} and without it ({1})",
                                           run.setting, name_lines(run))));
      } else if (works_as_suspected) {
        raise_by(run, !one.when_set, hypothesis);
      } else {
        speak_against(
            hypothesis, keeps,
            show_run(one.when_set ? run.with : run.without,
                     fmt::format("the same command works {} {} ({})",
                                 one.when_set ? "with" : "without", run.setting, name_lines(run))));
      }
      return;
    }
  }
}

bool told_to_work(const Observation& outcome) {
  static const RE2 works(R"((?i)pass|work|succe|fine|clean|correct)");
  static const RE2 not_so(R"((?i)\bno\b|\bsame\b)");
  const std::string came(outcome.value("came"));
  return RE2::PartialMatch(came, works) && !RE2::PartialMatch(came, not_so);
}

void weigh_told_outcomes(const LogSubject& subject, std::string_view cause,
                         Hypothesis& hypothesis) {
  constexpr double keeps = 0.3, doubt_that_stays = 0.5;
  for (const Observation* told : subject.log.of("setting-outcome")) {
    for (const Suspect& one : suspects) {
      // With the setting, a cause that needs its absence is out of the way.
      const bool is_tried = one.setting == told->value("tried") && told->value("to") != "0";
      if (one.cause != cause || one.when_set || !is_tried || rests_on(hypothesis, *told)) continue;
      if (told_to_work(*told)) {
        hypothesis.confidence = 1 - (1 - hypothesis.confidence) * doubt_that_stays;
        hypothesis.reasons.push_back(fmt::format("It works with {}={} ({}:{}).", one.setting,
                                                 told->value("to"), told->log_name, told->line));
      } else if (one.is_cleared) {
        speak_against(
            hypothesis, keeps,
            show(subject, *told,
                 fmt::format("it fails with {}={} as well", one.setting, told->value("to"))));
      }
      return;
    }
  }
}

void weigh_later_runs(const LogSubject& subject, const std::vector<TypedRun>& runs,
                      std::string_view cause, Hypothesis& hypothesis) {
  constexpr std::string_view obstacles =
      "device-permission kfd-not-passed driver-not-loaded missing-library wrong-wheel "
      "python-version-unsupported disk-full";
  if (!names_cause(obstacles, cause)) return;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool rests_on_it = runs[i].failure != nullptr && rests_on(hypothesis, *runs[i].failure);
    if (!rests_on_it) continue;
    for (std::size_t later = i + 1; later < runs.size(); ++later) {
      if (runs[later].program != runs[i].program || runs[later].failure == nullptr) continue;
      if (subject.log.last(runs[i].failure->id())->line > runs[later].command->line) return;
      constexpr double keeps = 0.35;
      speak_against(
          hypothesis, keeps,
          show_run(runs[later], "the same command got past it later, and failed otherwise"));
      return;
    }
  }
}

std::optional<Hypothesis> shown_by_control_run(const LogSubject& subject,
                                               const std::vector<ControlRun>& runs,
                                               const CauseRule& rule) {
  for (const ControlRun& run : runs) {
    for (const Suspect& one : suspects_of(run.setting)) {
      if (one.cause != rule.id || one.alone <= 0 || !has_needed(subject, one.needs)) continue;
      const TypedRun& good = one.when_set ? run.without : run.with;
      const TypedRun& bad = one.when_set ? run.with : run.without;
      if (!worked(good) || bad.failure == nullptr) continue;
      Hypothesis shown;
      shown.confidence = one.alone;
      shown.title = fmt::format("The same command works {0} {1} and fails {2} it",
                                one.when_set ? "without" : "with", run.setting,
                                one.when_set ? "with" : "without");
      shown.reasons = {std::string(rule.meaning), "Nothing else differs between the two runs."};
      shown.evidence = {show(subject, *bad.command, "this run fails"),
                        show(subject, *good.command, "this one works")};
      if (bad.failure != bad.command) {
        shown.evidence.insert(shown.evidence.begin(),
                              show(subject, *bad.failure, logs::describe(*bad.failure)));
      }
      shown.fix = {sentence(fmt::format("Run it {} {}, as in the line that works: {}",
                                        one.when_set ? "without" : "with", run.setting,
                                        trim(good.command->text)))};
      return shown;
    }
  }
  return std::nullopt;
}

}  // namespace headroom::findings
