// SPDX-License-Identifier: Apache-2.0
#include "trainer/header_seal.h"

#include <fmt/format.h>

#include <optional>

#include "machine/checksum.h"

namespace headroom::trainer {
namespace {

constexpr std::size_t seal_digits = 64;

// Where the digits begin.
std::optional<std::size_t> find_seal(std::string_view header) {
  const std::string before = fmt::format("\"{}\":\"", seal_key);
  const std::size_t at = header.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t start = at + before.size();
  if (start + seal_digits > header.size()) return std::nullopt;
  return start;
}

}  // namespace

std::string empty_seal() {
  return std::string(seal_digits, '0');
}

std::string seal(std::string header) {
  const std::string sum = machine::sha256(header);
  if (const auto start = find_seal(header)) header.replace(*start, seal_digits, sum);
  return header;
}

bool is_sealed(std::string header) {
  const auto start = find_seal(header);
  if (!start) return false;
  const std::string sum = header.substr(*start, seal_digits);
  header.replace(*start, seal_digits, empty_seal());
  return machine::sha256(header) == sum;
}

}  // namespace headroom::trainer
