// SPDX-License-Identifier: Apache-2.0
#include <re2/re2.h>

#include <map>
#include <string>
#include <utility>

#include "findings/scene_parts.h"

namespace headroom::findings {

using logs::Observation;

struct SettingReader::Patterns {
  RE2 ollama{R"(\b((?:HSA|HIP|ROCR|CUDA|GPU|OLLAMA)_[A-Z_]+):([\w.,-]+)(?: |\]|"|$))"};
  std::map<std::string, std::unique_ptr<RE2>, std::less<>> of_signatures;  // By signature's id.

  // The pattern that finds name and value, at first or in a second wording; null where a
  // signature's has other parts.
  const RE2* of(const knowledge::Signature& signature) {
    auto& pattern = of_signatures[signature.id];
    if (pattern == nullptr) pattern = std::make_unique<RE2>(signature.match, RE2::Quiet);
    if (!pattern->ok()) return nullptr;
    const std::size_t parts = pattern->NamedCapturingGroups().contains("setting_1") ? 4 : 2;
    return static_cast<std::size_t>(pattern->NumberOfCapturingGroups()) == parts ? pattern.get()
                                                                                 : nullptr;
  }
};

SettingReader::SettingReader() : patterns_(std::make_unique<Patterns>()) {}

SettingReader::~SettingReader() = default;

std::vector<facts::Setting> SettingReader::read(const Observation& seen) {
  const bool lists = seen.id() == "ollama-settings";
  if (!lists && seen.value("setting").empty()) return {};
  std::vector<facts::Setting> settings;
  const auto add = [&](const std::string& name, const std::string& value) {
    settings.push_back(
        {name, value, source_of(seen), facts::Scope::given, facts::Form::bare, 0, true});
  };
  std::string name, value;
  re2::StringPiece rest(seen.text);
  const RE2* pair = lists ? &patterns_->ollama : patterns_->of(*seen.signature);
  while (pair != nullptr && RE2::FindAndConsume(&rest, *pair, &name, &value)) {
    if (!name.empty()) add(name, value);  // Another wording has its own groups, read below.
  }
  if (!lists && settings.empty()) {
    add(std::string(seen.value("setting")), std::string(seen.value("value")));
  }
  return settings;
}

}  // namespace headroom::findings
