// SPDX-License-Identifier: Apache-2.0
// Amounts of memory. Interfaces never pass a bare number for memory: they pass Bytes, or the name
// of the number ends in _bytes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom {

struct Bytes {
  std::uint64_t value = 0;

  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    value += other.value;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t times) { return {a.value * times}; }
};

// a - b, or zero where b is larger: for "what is left", where the two were read at different
// moments.
constexpr Bytes saturating_sub(Bytes a, Bytes b) {
  return a > b ? a - b : Bytes{};
}

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t multiple) {
  return value / multiple * multiple;
}

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) {
  return {n};
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {n << 10U};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {n << 20U};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {n << 30U};
}
}  // namespace literals

// "62.54 GiB", "768.0 MiB", "512 B": the largest binary unit that leaves at least 1.
std::string to_string(Bytes bytes);

// "16GiB", "3.99 GiB", "512 MiB", "16 GB" (decimal), "2G" (binary, as the kernel reads it), "4096".
// Units are not case-sensitive. Fails on anything else, on negative numbers and on what exceeds 64
// bits.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace headroom
