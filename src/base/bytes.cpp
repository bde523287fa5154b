// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"

namespace headroom {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kib = 1024.0;
constexpr std::array<Unit, 20> units = {{
    {"", 1.0},
    {"b", 1.0},
    {"k", kib},
    {"kib", kib},
    {"kb", 1e3},
    {"m", kib* kib},
    {"mib", kib* kib},
    {"mb", 1e6},
    {"g", kib* kib* kib},
    {"gib", kib* kib* kib},
    {"gb", 1e9},
    {"t", kib* kib* kib* kib},
    {"tib", kib* kib* kib* kib},
    {"tb", 1e12},
    {"p", kib* kib* kib* kib* kib},
    {"pib", kib* kib* kib* kib* kib},
    {"pb", 1e15},
    {"e", kib* kib* kib* kib* kib* kib},
    {"eib", kib* kib* kib* kib* kib* kib},
    {"eb", 1e18},
}};

Error not_a_size(std::string_view text) {
  return {Errc::invalid, fmt::format("expected a size such as 16GiB, found \"{}\"", text),
          "write a number and a unit: 512MiB, 16GiB, 3.99GiB"};
}

}  // namespace

std::string to_string(Bytes bytes) {
  constexpr std::array<std::string_view, 7> names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes.value < 1024) return fmt::format("{} B", bytes.value);
  auto amount = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  while (amount >= 1024.0 && unit + 1 < names.size()) {
    amount /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", amount, unit >= 3 ? 2 : 1, names.at(unit));
}

Result<Bytes> parse_bytes(std::string_view text) {
  const std::string_view trimmed = trim(text);
  const std::size_t split = trimmed.find_first_not_of("0123456789.");
  const std::string_view digits = trimmed.substr(0, split);
  const std::string unit =
      to_lower(split == std::string_view::npos ? "" : trim(trimmed.substr(split)));
  for (const Unit& candidate : units) {
    if (candidate.name != unit) continue;
    if (const auto whole = parse_u64(digits); whole && candidate.factor == 1.0)
      return Bytes{*whole};
    const auto number = parse_double(digits);
    if (!number) return not_a_size(text);
    const double value = *number * candidate.factor;
    if (!(value < 18446744073709551616.0)) return not_a_size(text);  // 2^64
    // llround() ends at 2^63, above which every double is whole.
    if (value >= 9223372036854775808.0) return Bytes{static_cast<std::uint64_t>(value)};
    return Bytes{static_cast<std::uint64_t>(std::llround(value))};
  }
  return not_a_size(text);
}

}  // namespace headroom
