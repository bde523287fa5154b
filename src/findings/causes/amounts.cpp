// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/amounts.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace headroom::findings {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};
constexpr std::array<Unit, 4> units = {{
    {"", 1.0},
    {"_kib", 1024.0},
    {"_mib", 1024.0 * 1024.0},
    {"_gib", 1024.0 * 1024.0 * 1024.0},
}};

std::string_view any_value(const logs::Observation& seen, const std::string& name) {
  for (const char* wording : {"", "_1", "_2", "_3"}) {
    const std::string_view found = seen.value(name + wording);
    if (!found.empty()) return found;
  }
  return {};
}

std::optional<Bytes> read(std::string_view value, double factor) {
  std::string text(value);
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  if (text.ends_with("bytes")) text.resize(text.size() - 5);
  if (text.ends_with('i')) text += 'B';  // Kubernetes: 6Gi.
  if (factor == 1.0) {
    const auto bytes = parse_bytes(text);
    return bytes ? std::optional(*bytes) : std::nullopt;
  }
  const auto number = parse_double(text);
  if (!number || *number < 0 || *number > 1e9) return std::nullopt;
  return Bytes{static_cast<std::uint64_t>(*number * factor)};
}

}  // namespace

std::optional<Bytes> amount_of(const logs::Observation& seen, std::string_view name) {
  for (const Unit& unit : units) {
    const std::string_view value = any_value(seen, std::string(name) + std::string(unit.suffix));
    if (!value.empty()) return read(value, unit.factor);
  }
  return std::nullopt;
}

std::optional<double> number_of(const logs::Observation& seen, std::string_view name) {
  return parse_double(any_value(seen, std::string(name)));
}

double part_of(Bytes part, Bytes whole) {
  if (whole.value == 0) return 0;
  return static_cast<double>(part.value) / static_cast<double>(whole.value);
}

}  // namespace headroom::findings
