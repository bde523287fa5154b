// SPDX-License-Identifier: Apache-2.0
// docs/knobs.md: the table of knobs as a page to look one up in.
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "report/environment_text.h"

namespace headroom::report {
namespace {

using knowledge::Knob;
using knowledge::KnobClass;
using knowledge::KnobValue;

std::string unit_of(const Knob& knob) {
  return knob.unit == "page" ? "pages of 4 KiB" : knob.unit;
}

std::string number(double value) {
  return value == static_cast<double>(static_cast<std::int64_t>(value))
             ? fmt::format("{}", static_cast<std::int64_t>(value))
             : fmt::format("{}", value);
}

std::string takes(const Knob& knob) {
  std::string text;
  switch (knob.value) {
    case KnobValue::toggle:
    case KnobValue::bit:
      text = "0 or 1";
      break;
    case KnobValue::number:
    case KnobValue::fraction:
      text = knob.range
                 ? fmt::format("{} to {}", number(knob.range->first), number(knob.range->second))
                 : "a number";
      if (knob.power_of_two) text += ", a power of two";
      if (!knob.unit.empty()) text += ", in " + unit_of(knob);
      break;
    case KnobValue::words:
      text = join(knob.words, ", ");
      break;
    case KnobValue::mask:
      text = "device indices";
      break;
    case KnobValue::gfx:
      text = "a target's version, like 10.3.0";
      break;
    case KnobValue::options:
      text = "option:value, with commas";
      break;
    case KnobValue::text:
      text = "text";
      break;
  }
  if (knob.default_value) {
    text += knob.default_value->empty() ? "; by default not set"
                                        : fmt::format("; by default {}", *knob.default_value);
  }
  return text;
}

std::string versions(const std::map<std::string, std::string>& list) {
  std::vector<std::string> parts;
  for (const auto& [component, version] : list) parts.push_back(component + " " + version);
  return join(parts, " and ");
}

std::string certainty(char mark) {
  switch (mark) {
    case 'A':
      return "read in source or in the maker's documentation";
    case 'B':
      return "measured by a user, and consistent with the code";
    case 'C':
      return "from secondary text";
    default:
      return "inferred";
  }
}

std::string class_words(KnobClass kind) {
  switch (kind) {
    case KnobClass::debugging:
      return "A debugging aid or workaround.";
    case KnobClass::deprecated:
      return "Deprecated.";
    case KnobClass::dangerous:
      return "Dangerous.";
    case KnobClass::no_effect:
      return "No effect on a running job.";
    case KnobClass::normal:
      break;
  }
  return "";
}

std::string entry(const Knob& knob) {
  std::string text = fmt::format("### `{}`\n\n{}", knob.name, knob.does);
  const std::string kind = class_words(knob.kind);
  for (const std::string& part : {knob.cost, kind, knob.instead}) {
    if (!part.empty()) text += " " + part;
  }
  text += "\n\n";
  const auto row = [&](std::string_view what, const std::string& words) {
    if (!words.empty()) text += fmt::format("- {}: {}\n", what, words);
  };
  row("takes", takes(knob));
  row("another spelling of", knob.alias.empty() ? "" : "`" + knob.alias + "`");
  row("from", versions(knob.since));
  row("until", versions(knob.until));
  row("deprecated since", versions(knob.deprecated_since));
  row("means something only with", join(knob.matters, ", "));
  row("does nothing without",
      join(knob.needs, " or ") + (knob.needs_note.empty() ? "" : ", " + knob.needs_note));
  for (const auto& [other, why] : knob.conflicts) {
    row("does not go with", fmt::format("`{}`: {}", other, why));
  }
  row("known from", fmt::format("{} ({})", knob.source, certainty(knob.certainty)));
  return text + "\n";
}

}  // namespace

std::string knobs_page(const knowledge::KnobTable& knobs) {
  std::string page =
      "# Knobs\n\nVariables, allocator options and module parameters that people set for an AMD "
      "GPU, "
      "what each does and what it\ncosts. Generated from [data/knobs.toml](../data/knobs.toml). "
      "`headroom check --env FILE` explains those of a file, line by\nline, against this "
      "machine.\n\n";
  std::vector<std::pair<std::string, std::string>> sections;
  for (const Knob& knob : knobs.rows()) {
    std::string* section = nullptr;
    for (auto& [component, text] : sections) {
      if (component == knob.component) section = &text;
    }
    if (section == nullptr) section = &sections.emplace_back(knob.component, "").second;
    *section += entry(knob);
  }
  for (const auto& [component, text] : sections) {
    page += fmt::format("## Read by {}\n\n{}", component, text);
  }
  page.pop_back();
  return page;
}

}  // namespace headroom::report
