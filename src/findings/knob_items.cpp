// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace headroom::findings {
namespace {

using facts::Scope;
using facts::Setting;

// Names the group of settings that one program, or the driver, sees together.
std::string group_of(const Setting& setting) {
  switch (setting.scope) {
    case Scope::process:
      return fmt::format("process {}", setting.pid);
    case Scope::unit:
    case Scope::quadlet:
      return setting.source.path;
    case Scope::modprobe:
    case Scope::boot:
      return "kernel";
    case Scope::given:
      return setting.name.find('.') == std::string::npos ? "given" : "kernel";
    default:
      return "login";
  }
}

// Splits "a:1,b:[2:4,8:1]" at the commas outside of brackets.
std::vector<std::string_view> split_options(std::string_view value) {
  std::vector<std::string_view> options;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const char c = i < value.size() ? value[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    const bool ends = i == value.size() || (c == ',' && depth <= 0);
    if (!ends) continue;
    const std::string_view option = trim(value.substr(begin, i - begin));
    if (!option.empty()) options.push_back(option);
    begin = i + 1;
  }
  return options;
}

KnobItem make_option(const KnobItem& variable, std::string_view option,
                     const knowledge::KnobTable& knobs) {
  const std::size_t colon = std::min(option.find(':'), option.size());
  const std::string name(trim(option.substr(0, colon)));
  KnobItem item = variable;
  item.judged.name = variable.judged.name + ":" + name;
  item.judged.value = colon < option.size() ? trim(option.substr(colon + 1)) : "";
  item.row = knobs.find(variable.meaning->name + ":" + name);
  item.meaning = item.row == nullptr ? nullptr : &knobs.meaning_of(*item.row);
  return item;
}

}  // namespace

void conclude(KnobItem& item, KnobVerdict verdict, std::string why, std::string advice) {
  item.judged.verdict = verdict;
  item.judged.why = std::move(why);
  item.judged.advice = std::move(advice);
}

bool is_active(const KnobItem& item) {
  const KnobVerdict verdict = item.judged.verdict;
  return item.meaning != nullptr && verdict != KnobVerdict::no_effect &&
         verdict != KnobVerdict::unknown &&
         !knowledge::is_default(*item.meaning, item.judged.value);
}

std::vector<KnobItem> make_knob_items(const std::vector<Setting>& settings,
                                      const knowledge::KnobTable& knobs) {
  std::vector<KnobItem> items;
  std::map<std::string, std::size_t> groups;
  for (const Setting& setting : settings) {
    KnobItem item;
    item.judged.setting = setting;
    item.judged.name = setting.name;
    item.judged.value = setting.value;
    item.row = knobs.find(setting.name);
    item.meaning = item.row == nullptr ? nullptr : &knobs.meaning_of(*item.row);
    item.group = groups.emplace(group_of(setting), groups.size()).first->second;
    items.push_back(item);
    if (item.row == nullptr || item.row->value != knowledge::KnobValue::options) continue;
    for (const std::string_view option : split_options(item.judged.value)) {
      items.push_back(make_option(item, option, knobs));
    }
  }
  return items;
}

}  // namespace headroom::findings
