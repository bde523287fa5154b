// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_findings.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::findings {
namespace {

// Whether another rule reports the setting, with a claim: gfx-override-wrong reports overrides,
// unused-option a limit for a TTM that is not in use, limit-above-ram a limit above the RAM.
bool is_told_elsewhere(const Judgement& judged, const knowledge::KnobTable& knobs) {
  const auto* knob = knobs.find(judged.name);
  if (knob == nullptr) return false;
  const bool override = knob->value == knowledge::KnobValue::gfx;
  const bool limit = knob->limit && (judged.verdict == KnobVerdict::no_effect ||
                                     judged.verdict == KnobVerdict::dangerous);
  // mask-names-missing and mask-hides-gpu report the masks of this shell or container.
  const bool mask = knob->value == knowledge::KnobValue::mask &&
                    (judged.setting.scope == facts::Scope::shell ||
                     judged.setting.scope == facts::Scope::container);
  return (override && judged.verdict == KnobVerdict::dangerous) || limit || mask;
}

std::string capital(std::string text) {
  const std::size_t word = std::min(text.find(' '), text.size());
  const bool is_name = text.substr(0, word).find_first_of("_.=0123456789") != std::string::npos;
  if (!is_name && !text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  if (!text.empty() && text.back() != '.' && text.back() != '?') text += '.';
  return text;
}

// Names the place as "/etc/environment:2", or without a line if there is none.
std::string place_of(const facts::Source& source) {
  return source.line > 0 ? fmt::format("{}:{}", source.path, source.line) : source.path;
}

std::string shown(const Judgement& judged) {
  return judged.name + (judged.is_option() ? ":" : "=") + judged.value;
}

}  // namespace

std::string holds_for(const facts::Setting& setting) {
  using facts::Scope;
  switch (setting.scope) {
    case Scope::shell:
      return "for programs started from this shell";
    case Scope::process:
      return fmt::format("for the running process {}", setting.pid);
    case Scope::environment_file:
    case Scope::profile:
      return "for every login";
    case Scope::container:
      return "for every job in this container";
    case Scope::unit:
    case Scope::quadlet:
      return "for this service";
    case Scope::modprobe:
      return "for the module, when it loads";
    case Scope::boot:
      return "at boot";
    case Scope::given:
      break;
  }
  return "in the file given";
}

std::vector<Finding> find_knobs(const Subject& subject, const KnobRule& rule) {
  std::vector<Finding> findings;
  std::vector<std::string> settings;  // What each of them is about: "NAME=VALUE".
  const auto judgements =
      audit_knobs(subject.facts.environment.settings, subject.facts, subject.tables);
  for (const Judgement& judged : judgements) {
    if (judged.verdict != rule.verdict || !judged.ours) continue;
    if (is_told_elsewhere(judged, subject.tables.knobs)) continue;
    const std::string setting = shown(judged);
    const std::string title = setting + " " + rule.title;
    const facts::Source& source = judged.setting.source;
    const Evidence place{source.path, source.line, source.text, "set " + holds_for(judged.setting)};
    const auto known = std::find(settings.begin(), settings.end(), setting);
    if (known != settings.end()) {
      Finding& finding = findings[static_cast<std::size_t>(known - settings.begin())];
      finding.evidence.push_back(place);
      finding.title = fmt::format("{} ({} and {} more)", title, finding.evidence[0].source,
                                  finding.evidence.size() - 1);
      continue;
    }
    Finding finding;
    finding.id = rule.id;
    finding.severity = rule.severity;
    finding.title = fmt::format("{} ({})", title, place_of(source));
    for (const std::string& reason : {judged.does, judged.why}) {
      if (!reason.empty()) finding.reasons.push_back(reason);
    }
    finding.evidence = {place};
    finding.fix = {
        sentence((judged.why.empty() ? "" : capital(judged.why) + " ") + capital(judged.advice))};
    const bool curable =
        rule.verdict == KnobVerdict::dangerous || rule.verdict == KnobVerdict::deprecated;
    // A limit's old name goes with the fix that sets the limit.
    const auto* knob = subject.tables.knobs.find(judged.name);
    const bool limit = knob != nullptr && knob->limit;
    finding.next = !curable ? NextCommand::check()
                   : limit  ? NextCommand::fix("ttm-cap")
                            : NextCommand::fix(rule.id);
    findings.push_back(std::move(finding));
    settings.push_back(setting);
  }
  return findings;
}

std::string_view to_string(KnobVerdict verdict) {
  switch (verdict) {
    case KnobVerdict::no_effect:
      return "no-effect";
    case KnobVerdict::contradictory:
      return "contradictory";
    case KnobVerdict::debugging:
      return "debugging";
    case KnobVerdict::wrong_unit:
      return "wrong-unit";
    case KnobVerdict::unknown:
      return "unknown";
    case KnobVerdict::deprecated:
      return "deprecated";
    case KnobVerdict::dangerous:
      return "dangerous";
    case KnobVerdict::keep:
      break;
  }
  return "keep";
}

}  // namespace headroom::findings
