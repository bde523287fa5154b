// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/aiter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/raised_in.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

bool is_on(std::string_view value) {
  const std::string word = to_lower(trim(value));
  return word == "1" || word == "true";
}

// Returns the variable that switches AITER, or one family of its kernels, on; nullptr without.
const facts::Setting* find_switch(const Scene& scene) {
  const facts::Setting* found = nullptr;
  for (const facts::Setting& setting : scene.settings) {
    const bool names_it =
        setting.name.starts_with("VLLM_ROCM_USE_AITER") || setting.name == "SGLANG_USE_AITER";
    if (names_it && is_on(setting.value)) found = &setting;
  }
  return found;
}

// Returns the last line before `line`, at most this many lines above, that AITER writes.
const Observation* written_before(const logs::Observations& log, const Observation& line) {
  constexpr std::uint64_t near = 40;
  const Observation* last = nullptr;
  for (const Observation* one : log.of("aiter-words")) {
    if (one->log == line.log && one->line <= line.line && line.line - one->line <= near) last = one;
  }
  return last;
}

struct Failure {
  const Observation* seen = nullptr;
  double confidence = 0;
  std::string_view reason;
};

// Returns an error that AITER's own code raises, or that names it.
const Observation* find_raised(const logs::Observations& log) {
  for (const Observation* one : log.of("python-exception")) {
    const RaisedIn raised = raised_in(log, *one);
    const auto names_it = [](const std::string& text) {
      return text.find("[aiter]") != std::string::npos ||
             text.find("/aiter/") != std::string::npos ||
             text.find("'aiter'") != std::string::npos || text.find("'aiter.") != std::string::npos;
    };
    if (names_it(one->text) || (raised.frame != nullptr && names_it(raised.frame->text))) {
      return one;
    }
  }
  return nullptr;
}

// A crash or a kernel that does not fit is AITER's if its own lines stand before it.
Failure find_failure(const LogSubject& subject, const facts::Setting* setting) {
  const logs::Observations& log = subject.log;
  if (const Observation* refused = log.first("aiter-refuses-gpu")) {
    return {refused, 0.86, "AITER itself says that it has no kernels for this GPU."};
  }
  if (const Observation* local = log.first("kernel-exceeds-local-memory")) {
    if (written_before(log, *local) != nullptr) {
      return {local, 0.82,
              "AITER's kernel needs more local memory (LDS) than a workgroup has on this GPU. It "
              "is designed for Instinct cards."};
    }
  }
  for (const char* crash : {"segfault-banner", "segfault", "signal-death"}) {
    for (const Observation* one : log.of(crash)) {
      if (written_before(log, *one) != nullptr) {
        return {one, 0.72, "The process crashed in or right after AITER's own kernels."};
      }
    }
  }
  // On the cards that AITER is made for such an error is a bug of a release, and without the switch
  // nothing of it need be in use.
  const std::string gfx = subject.scene.gfx();
  const bool made_for_it = gfx.starts_with("gfx94") || gfx.starts_with("gfx95");
  if (setting != nullptr && !gfx.empty() && !made_for_it) {
    if (const Observation* raised = find_raised(log)) {
      return {raised, 0.78,
              "The error comes from AITER, which is made for Instinct cards of gfx942 and gfx950."};
    }
  }
  return {};
}

}  // namespace

std::optional<Hypothesis> find_aiter(const LogSubject& subject) {
  const facts::Setting* setting = find_switch(subject.scene);
  const Failure failure = find_failure(subject, setting);
  if (failure.seen == nullptr) return std::nullopt;
  Hypothesis option;
  option.confidence =
      setting != nullptr ? std::min(failure.confidence + 0.08, 0.92) : failure.confidence - 0.12;
  option.title = setting != nullptr
                     ? fmt::format("{} switches on AITER's kernels, which do not support this GPU",
                                   setting->name)
                     : "AITER's kernels are used, and they do not support this GPU";
  option.reasons.emplace_back(failure.reason);
  option.evidence.push_back(show(subject, *failure.seen, logs::describe(*failure.seen)));
  if (const Observation* before = written_before(subject.log, *failure.seen)) {
    option.evidence.push_back(show(subject, *before, "AITER was in use"));
  }
  if (setting != nullptr) {
    const facts::Source& source = setting->source;
    option.evidence.push_back({source.path, source.line, source.text, "what switches it on"});
  }
  option.fix = {
      sentence("Switch AITER off in the server's environment: VLLM_ROCM_USE_AITER=0 (SGLang: "
               "SGLANG_USE_AITER=0)"),
      sentence("Or switch off only the kernels that fail. vllm/envs.py names the variables, for "
               "example VLLM_ROCM_USE_AITER_UNIFIED_ATTENTION=0, VLLM_ROCM_USE_AITER_RMSNORM=0, "
               "VLLM_ROCM_USE_AITER_FP4BMM=0")};
  option.alternatives = {{"gfx-target-missing", 0.15, "the same job with VLLM_ROCM_USE_AITER=0"},
                         {"framework-bug", 0.1, "the same job with a newer vLLM and AITER"}};
  return option;
}

}  // namespace headroom::findings
