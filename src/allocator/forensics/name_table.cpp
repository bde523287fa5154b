// SPDX-License-Identifier: Apache-2.0
#include "allocator/forensics/name_table.h"

#include <algorithm>
#include <functional>

#include "base/printable.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t initial_slots = 256;

}  // namespace

std::string printable_name(std::string_view name) {
  return printable(name);
}

std::string name_pattern(std::string_view name) {
  std::string pattern;
  for (;;) {
    const std::string_view part = name.substr(0, name.find('.'));
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    pattern += number ? "*" : part;
    if (part.size() == name.size()) return pattern;
    pattern += '.';
    name.remove_prefix(part.size() + 1);
  }
}

NameTable::NameTable() : slots_(initial_slots) {}

NameId NameTable::intern(std::string_view name) {
  if (name.empty()) return 0;
  name = name.substr(0, max_name_bytes);
  const MutexLock lock(mutex_);
  std::size_t at = place_of(name);
  if (slots_[at] != 0) return slots_[at];
  if (names_.size() == max_names) return 0;
  if ((names_.size() + 1) * 2 > slots_.size()) {
    grow();
    at = place_of(name);
  }
  names_.emplace_back(name);
  slots_[at] = static_cast<NameId>(names_.size());
  return slots_[at];
}

std::string_view NameTable::name(NameId id) const {
  const MutexLock lock(mutex_);
  if (id == 0 || id > names_.size()) return {};
  return names_[id - 1U];
}

std::size_t NameTable::size() const {
  const MutexLock lock(mutex_);
  return names_.size();
}

// The slot where the name is, or the free slot that it would get.
std::size_t NameTable::place_of(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = std::hash<std::string_view>()(name) & mask;
  while (slots_[at] != 0 && names_[slots_[at] - 1U] != name) at = (at + 1) & mask;
  return at;
}

void NameTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t i = 0; i < names_.size(); ++i)
    slots_[place_of(names_[i])] = static_cast<NameId>(i + 1);
}

}  // namespace headroom::allocator
