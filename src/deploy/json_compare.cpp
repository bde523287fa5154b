// SPDX-License-Identifier: Apache-2.0
#include "deploy/json_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/document.h"
#include "base/json_text.h"

namespace headroom::deploy {
namespace {

constexpr std::size_t shown_max = 80;

std::string shown(const Json& value) {
  const std::string text = to_json_text(value);
  return text.size() <= shown_max ? text : text.substr(0, shown_max) + "…";
}

std::string differs(const std::string& where, const std::string& expected,
                    const std::string& found) {
  return fmt::format("expected {} at {}, found {}", expected, where.empty() ? "/" : where, found);
}

// A key as a part of a pointer.
std::string escaped(const std::string& key) {
  std::string part;
  for (const char c : key) {
    if (c == '~') {
      part += "~0";
    } else if (c == '/') {
      part += "~1";
    } else {
      part += c;
    }
  }
  return part;
}

bool are_near(const Json& a, const Json& b, double tolerance) {
  if (a == b) return true;
  const double x = a.get<double>();
  const double y = b.get<double>();
  if (!std::isfinite(x) || !std::isfinite(y)) return false;
  return std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

// Values of a service are nested at most as deep as base/document reads them.
class Comparison {
 public:
  explicit Comparison(const Sameness& sameness) : sameness_(sameness) {}

  std::string compare(const Json& a, const Json& b, const std::string& where) const {
    const auto& ignored = sameness_.ignore;
    if (std::find(ignored.begin(), ignored.end(), where) != ignored.end()) return "";
    if (a.is_number() && b.is_number()) {
      return are_near(a, b, sameness_.tolerance) ? "" : differs(where, shown(a), shown(b));
    }
    if (a.is_array() && b.is_array()) return arrays(a, b, where);
    if (a.is_object() && b.is_object()) return objects(a, b, where);
    return a == b ? "" : differs(where, shown(a), shown(b));
  }

 private:
  std::string arrays(const Json& a, const Json& b, const std::string& where) const {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const std::string place = fmt::format("{}/{}", where, i);
      std::string found =
          member(i < a.size() ? &a[i] : nullptr, i < b.size() ? &b[i] : nullptr, place);
      if (!found.empty()) return found;
    }
    return "";
  }

  std::string objects(const Json& a, const Json& b, const std::string& where) const {
    for (const auto& [key, value] : a.items()) {
      const auto other = b.find(key);
      std::string found =
          member(&value, other == b.end() ? nullptr : &*other, where + "/" + escaped(key));
      if (!found.empty()) return found;
    }
    for (const auto& [key, value] : b.items()) {
      if (a.contains(key)) continue;
      std::string found = member(nullptr, &value, where + "/" + escaped(key));
      if (!found.empty()) return found;
    }
    return "";
  }

  // One of the two may be missing, which `ignore` allows as well.
  std::string member(const Json* a, const Json* b, const std::string& where) const {
    if (a != nullptr && b != nullptr) return compare(*a, *b, where);
    const auto& ignored = sameness_.ignore;
    if (std::find(ignored.begin(), ignored.end(), where) != ignored.end()) return "";
    return differs(where, a == nullptr ? "nothing" : shown(*a),
                   b == nullptr ? "nothing" : shown(*b));
  }

  const Sameness& sameness_;
};

}  // namespace

std::string compare_json(const Json& expected, const Json& found, const Sameness& sameness) {
  return Comparison(sameness).compare(expected, found, "");
}

bool is_pointer(const std::string& text) {
  if (text.empty()) return true;
  if (text.front() != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') continue;
    if (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1')) return false;
  }
  return true;
}

const Json* value_at(const Json& document, const std::string& pointer) {
  if (!is_pointer(pointer)) return nullptr;
  const Json* value = &document;
  std::size_t at = 0;
  while (at < pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string part;
    for (std::size_t i = at + 1; i < end; ++i) {
      part += pointer[i] != '~' ? pointer[i] : pointer[++i] == '0' ? '~' : '/';
    }
    if (value->is_object()) {
      const auto found = value->find(part);
      if (found == value->end()) return nullptr;
      value = &*found;
    } else if (value->is_array()) {
      const bool is_index =
          !part.empty() && part.size() < 10 &&
          std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
          (part == "0" || part.front() != '0');
      if (!is_index || std::stoul(part) >= value->size()) return nullptr;
      value = &(*value)[std::stoul(part)];
    } else {
      return nullptr;
    }
    at = end;
  }
  return value;
}

}  // namespace headroom::deploy
