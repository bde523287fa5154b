// SPDX-License-Identifier: Apache-2.0
#include "logs/observation.h"

#include <algorithm>
#include <cctype>

namespace headroom::logs {

using knowledge::Role;

namespace {

// Whether it is the name with a number: "gfx_1", the same value in another wording.
bool is_wording_of(std::string_view key, std::string_view name) {
  return key.size() == name.size() + 2 && key.starts_with(name) && key[name.size()] == '_' &&
         std::isdigit(static_cast<unsigned char>(key.back())) != 0;
}

}  // namespace

std::string_view Observation::value(std::string_view name) const {
  std::string_view other_wording;
  for (const auto& [key, found] : values) {
    if (key == name && !found.empty()) return found;
    if (other_wording.empty() && is_wording_of(key, name)) other_wording = found;
  }
  return other_wording;
}

std::optional<Bytes> Observation::bytes(std::string_view name) const {
  const std::string_view found = value(name);
  if (found.empty()) return std::nullopt;
  const auto amount = parse_bytes(found);
  return amount ? std::optional(*amount) : std::nullopt;
}

bool Observation::is_remark() const {
  const auto said = [&](std::string_view word) {
    if (!level.empty()) return level == word;
    const bool first = std::string_view(text).starts_with(word);
    return first && (text.size() == word.size() || std::isalnum(text[word.size()]) == 0);
  };
  return said("INFO") || said("DEBUG") || said("TRACE") || said("SUCCESS");
}

bool Observation::output_has(std::string_view part) const {
  return std::any_of(output.begin(), output.end(),
                     [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

std::size_t Observations::kept_of(const knowledge::Signature& signature) const {
  if (bytes_ > most_bytes) return kept_when_full;
  const bool is_fact = signature.role == Role::fact || signature.role == Role::command;
  return is_fact ? kept_facts : kept_of_a_kind;
}

std::size_t Observations::add(Observation observation) {
  Kind& kind = kinds_[observation.id()];
  ++kind.count;
  // Of a kind of which enough is kept the last one gives way to this one.
  if (kind.places.size() > kept_of(*observation.signature)) {
    all_[kind.places.back()] = std::move(observation);
    return kind.places.back();
  }
  bytes_ += sizeof(Observation) + observation.text.size();
  for (const auto& [name, value] : observation.values) bytes_ += name.size() + value.size();
  kind.places.push_back(all_.size());
  all_.push_back(std::move(observation));
  return kind.places.back();
}

bool Observations::has_enough_of(const knowledge::Signature& signature) const {
  const auto found = kinds_.find(signature.id);
  return found != kinds_.end() && found->second.places.size() > kept_of(signature);
}

const Observations::Kind* Observations::kind(std::string_view id) const {
  const auto found = kinds_.find(id);
  return found == kinds_.end() ? nullptr : &found->second;
}

std::uint64_t Observations::count_of(std::string_view id) const {
  const Kind* found = kind(id);
  return found == nullptr ? 0 : found->count;
}

const Observation* Observations::first(std::string_view id) const {
  const Kind* found = kind(id);
  return found == nullptr || found->places.empty() ? nullptr : &all_[found->places.front()];
}

const Observation* Observations::last(std::string_view id) const {
  const Kind* found = kind(id);
  return found == nullptr || found->places.empty() ? nullptr : &all_[found->places.back()];
}

const Observation* Observations::first_of(std::initializer_list<std::string_view> ids) const {
  const Observation* earliest = nullptr;
  for (const std::string_view id : ids) {
    const Observation* one = first(id);
    if (one == nullptr) continue;
    if (earliest == nullptr ||
        std::pair(one->log, one->line) < std::pair(earliest->log, earliest->line)) {
      earliest = one;
    }
  }
  return earliest;
}

std::vector<const Observation*> Observations::of(std::string_view id) const {
  std::vector<const Observation*> found;
  if (const Kind* known = kind(id)) {
    for (const std::size_t place : known->places) found.push_back(&all_[place]);
  }
  return found;
}

const Observation* Observations::first_with(Role role) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Observation& one) {
    return one.signature->role == role;
  });
  return found == all_.end() ? nullptr : &*found;
}

}  // namespace headroom::logs
