// SPDX-License-Identifier: Apache-2.0
// gfx-target-dropped: an older release carried the GPU's target, but the one in use does not. The
// lines are those of a missing target; the tables know the history.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/causes.h"
#include "findings/causes/gpu_code.h"
#include "findings/causes/older_release.h"
#include "findings/causes/told_topics.h"
#include "findings/causes/told_versions.h"
#include "findings/stack_advice.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using knowledge::Target;
using logs::Observation;

// Whether the release in use is newer than the newest stack that is known to carry the target.
bool is_beyond_known_stacks(const LogSubject& subject, const Target& target) {
  const knowledge::Stack* stack = subject.tables.stack(target.gfx);
  const facts::Text& used =
      subject.scene.torch_rocm ? subject.scene.torch_rocm : subject.scene.rocm;
  if (stack == nullptr || !used || !stack->index.starts_with("rocm")) return false;
  const auto release = facts::parse_kernel_version(*used);
  const auto carried = facts::parse_kernel_version(stack->index.substr(4));
  return release && carried && *release > *carried;
}

bool release_is_known(const LogSubject& subject) {
  return subject.scene.torch_rocm.known() || subject.scene.rocm.known();
}

// Whether nothing of today builds for the target, and the release in use is two major releases
// behind the last one that did.
bool is_long_gone(const LogSubject& subject, const Target& target) {
  const Scene& scene = subject.scene;
  const facts::Text& used = scene.torch_rocm ? scene.torch_rocm : scene.rocm;
  const auto release = used ? facts::parse_kernel_version(*used) : std::nullopt;
  const auto last = facts::parse_kernel_version(*target.rocm_last);
  if (target.therock != knowledge::TheRock::none || !release || !last) return false;
  return (*release)[0] >= (*last)[0] + 2;
}

Hypothesis describe(const LogSubject& subject, const Target& target) {
  Hypothesis dropped;
  const Scene& scene = subject.scene;
  const facts::Text& used = scene.torch_rocm ? scene.torch_rocm : scene.rocm;
  dropped.title =
      fmt::format("{} no longer includes code for {}; older releases did",
                  used ? "ROCm " + *used : "Today's ROCm", describe_gpu(subject, target.gfx));
  if (target.rocm_last) {
    dropped.reasons.push_back(
        fmt::format("ROCm {} was the last release that listed {}.", *target.rocm_last, target.gfx));
  }
  if (const knowledge::Stack* stack = subject.tables.stack(target.gfx)) {
    dropped.reasons.push_back(
        fmt::format("ROCm that still includes it: {}. {}.", stack->rocm, stack->evidence));
    dropped.fix = older_wheels(subject.tables, *stack);
  }
  if (used) dropped.evidence.push_back(show(used, "the ROCm in use"));
  dropped.fix.push_back(
      sentence("Leave HSA_OVERRIDE_GFX_VERSION unset. No other target's code is known to run on " +
               target.gfx));
  dropped.fix.push_back(sentence(
      "llama.cpp and ollama also run with Vulkan, which does not need ROCm: OLLAMA_VULKAN=1"));
  dropped.alternatives = {{"gfx-target-missing", 0.1,
                           "python3 -c \"import torch; print(torch.cuda.get_arch_list())\""}};
  return dropped;
}

// ollama looks for GPUs with a program of its own; built with a ROCm that no longer carries the
// target, that program dies, and ollama goes on with the CPU.
std::optional<Hypothesis> find_ollama(const LogSubject& subject) {
  const Observation* failed = subject.log.first("ollama-discovery-failed");
  const Observation* given_up = subject.log.last("ollama-cpu-only");
  if (failed == nullptr || given_up == nullptr || given_up->line < failed->line) {
    return std::nullopt;
  }
  std::string gfx = subject.scene.gfx();
  const Observation* used = nullptr;  // It worked before that, with another release.
  const Observation* before = nullptr;
  const Observation* now = nullptr;
  for (const Observation* one : subject.log.of("target-printed")) {
    if (one->log == failed->log && one->line < failed->line) used = one;
  }
  for (const Observation* one : subject.log.of("ollama-version")) {
    if (one->log != failed->log || one->line > failed->line) continue;
    if (used != nullptr && one->line < used->line) before = one;
    now = one;
  }
  if (used != nullptr && gfx.empty()) gfx = used->value("gfx");
  const Target* target = dropped_target(subject, gfx);
  if (target == nullptr) return std::nullopt;
  const bool updated = before != nullptr && before->value("ollama") != now->value("ollama");
  Hypothesis dropped = describe(subject, *target);
  dropped.confidence = updated ? 0.85 : 0.6;
  if (updated) {
    dropped.title =
        fmt::format("ollama {} no longer includes code for {}; {} did", now->value("ollama"),
                    describe_gpu(subject, gfx), before->value("ollama"));
    dropped.fix.insert(dropped.fix.begin(),
                       sentence(fmt::format("Stay with ollama {}, which still uses it.",
                                            before->value("ollama"))));
    dropped.evidence.insert(dropped.evidence.begin(),
                            show(subject, *used, "used by the previous release"));
  }
  dropped.evidence.insert(dropped.evidence.begin(),
                          show(subject, *failed, logs::describe(*failed)));
  return dropped;
}

// Whether it is told that an older release works and a newer one does not.
const Observation* older_release_told(const LogSubject& subject) {
  for (const Component about : {Component::rocm, Component::torch}) {
    const ToldVersions told = told_versions(subject.log, about);
    if (told.told == nullptr) continue;
    if (told.going_back_helps || told.newer_breaks) return told.told;
    for (const std::string& works : told.works) {
      const auto old = facts::parse_kernel_version(works);
      for (const std::string& fails : told.fails) {
        const auto now = facts::parse_kernel_version(fails);
        if (old && now && *old < *now) return told.told;
      }
    }
  }
  return nullptr;
}

// Likewise of the code for this target: "23.1 has 242 files for gfx942".
std::optional<Hypothesis> find_had_before(const LogSubject& subject, const NoCode& code) {
  const Observation* had = older_release_had(subject, code.gfx);
  const Target* target = subject.tables.target(code.gfx);
  if (had == nullptr || target == nullptr) return std::nullopt;
  constexpr double most = 0.8;
  Hypothesis dropped = describe(subject, *target);
  dropped.confidence = std::min(code.confidence, most);
  dropped.fix.insert(dropped.fix.begin(),
                     sentence(fmt::format("Use {}, which still has it, or a repaired release.",
                                          had->value("older"))));
  dropped.evidence.insert(dropped.evidence.begin(),
                          {show(subject, *code.seen, logs::describe(*code.seen)),
                           show(subject, *had, "an older release has the code")});
  return dropped;
}

// The tables do not have it that the target was dropped, but a person tells that an older release
// ran on the GPU for which the newer one has no code.
std::optional<Hypothesis> find_told(const LogSubject& subject, const NoCode& code) {
  const Observation* told = older_release_told(subject);
  const Target* target = subject.tables.target(code.gfx);
  if (told == nullptr || target == nullptr) return std::nullopt;
  constexpr double most = 0.7;
  Hypothesis dropped = describe(subject, *target);
  dropped.confidence = std::min(code.confidence, most);
  dropped.evidence.insert(dropped.evidence.begin(),
                          {show(subject, *code.seen, logs::describe(*code.seen)),
                           show(subject, *told, "an older release is said to work")});
  return dropped;
}

// A person tells that a newer release of a program no longer uses a GPU whose target was dropped,
// and an older one did.
std::optional<Hypothesis> find_told_program(const LogSubject& subject) {
  const Target* target = dropped_target(subject, subject.scene.gfx());
  if (target == nullptr) return std::nullopt;
  const ToldVersions told = told_versions(subject.log, Component::program);
  if (told.told == nullptr || (told.works.empty() && !told.newer_breaks)) return std::nullopt;
  const bool is_unused =
      subject.log.any_of({"ollama-discovery-failed", "ollama-cpu-only", "ollama-no-gpu"}) ||
      speaks_of(subject.log, "unseen") || speaks_of(subject.log, "backend");
  if (!is_unused) return std::nullopt;
  constexpr double sure = 0.7;
  Hypothesis dropped = describe(subject, *target);
  dropped.confidence = sure;
  dropped.evidence.insert(dropped.evidence.begin(),
                          show(subject, *told.told, "an older release is said to work"));
  return dropped;
}

// Whether the job runs in an image whose name says that it was built for this target.
bool runs_in_its_own_image(const LogSubject& subject, const std::string& gfx) {
  const auto started = subject.log.of("container-command");
  return std::any_of(started.begin(), started.end(), [&](const Observation* one) {
    return one->text.find(gfx) != std::string::npos;
  });
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (auto told = find_told_program(subject)) return told;
  if (auto ollama = find_ollama(subject)) return ollama;
  const auto code = find_no_code(subject);
  if (code && !code->add_on) {
    const Target* target = dropped_target(subject, code->gfx);
    if (target == nullptr) {
      auto had = find_had_before(subject, *code);
      return had ? had : find_told(subject, *code);
    }
    Hypothesis dropped = describe(subject, *target);
    dropped.confidence = code->confidence;
    // Nothing of today builds for it any more, so that it may as well be called unsupported.
    constexpr double if_long_gone = 0.75;
    const bool names_it = code->names_target || !code->built_for.empty();
    if (is_long_gone(subject, *target) && !names_it) {
      dropped.confidence *= if_long_gone;
    }
    const auto forced = find_override(subject);
    if (forced && forced->judged.risk == knowledge::Risk::dangerous) dropped.confidence *= 0.5;
    if (!code->built_for.empty()) {
      dropped.reasons.push_back("The library lists " + join(code->built_for, ", ") + ".");
    }
    dropped.evidence.insert(dropped.evidence.begin(),
                            show(subject, *code->seen, logs::describe(*code->seen)));
    return dropped;
  }
  // No line names the target, but the release is too new for the card and something failed.
  const Target* target = dropped_target(subject, subject.scene.gfx());
  const Observation* died = subject.log.first("gpu-code-faulted");
  const Observation* failure =
      died != nullptr ? died : subject.log.first_with(knowledge::Role::failure);
  if (failure == nullptr) failure = subject.log.first_with(knowledge::Role::consequence);
  // A crash inside ROCm's own libraries, on a card that none of today's has code for.
  const Observation* frame = subject.log.first("rocm-crash-frame");
  if (target != nullptr && frame != nullptr && !release_is_known(subject)) {
    Hypothesis dropped = describe(subject, *target);
    dropped.confidence = 0.45;
    dropped.evidence.insert(dropped.evidence.begin(), show(subject, *frame));
    return dropped;
  }
  if (target == nullptr || failure == nullptr || !is_beyond_known_stacks(subject, *target)) {
    return std::nullopt;
  }
  if (runs_in_its_own_image(subject, target->gfx)) return std::nullopt;
  Hypothesis dropped = describe(subject, *target);
  // Code of another target that is run all the same reads memory where there is none.
  dropped.confidence = died != nullptr ? 0.6 : 0.4;
  dropped.evidence.insert(dropped.evidence.begin(), show(subject, *failure));
  return dropped;
}

}  // namespace

constinit const CauseRule gfx_target_dropped_cause = {
    .id = "gfx-target-dropped",
    .meaning = "An older release included this GPU's target. The one in use does not.",
    .why = "The card still works. Today's libraries no longer contain code for it.",
    .fix = "Install the stack that still includes it, and pin that version.",
    .explains = "app-bug crash-loop framework-bug gfx-target-missing gpu-unsupported gpu-hang",
    .is_standing = true,
    .next = &NextCommand::stack,
    .find = find,
};

}  // namespace headroom::findings
