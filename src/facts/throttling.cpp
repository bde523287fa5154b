// SPDX-License-Identifier: Apache-2.0
#include "facts/throttling.h"

#include <limits>
#include <optional>
#include <vector>

#include "base/text.h"

namespace headroom::facts {
namespace {

// u16 size, u8 format, u8 content.
constexpr std::size_t header_bytes = 4;

std::uint64_t read_number(const std::string& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i > 0; --i) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return value;
}

// Where the field stands in that revision.
std::optional<std::size_t> place_of(unsigned format, unsigned content) {
  constexpr std::size_t in_1_3 = 112, in_2_2 = 120;
  if (format == 1 && content == 3) return in_1_3;
  if (format == 2 && content >= 2 && content <= 4) return in_2_2;
  return std::nullopt;
}

Fact<Throttling> none(Why why, std::string text, const Text& metrics) {
  return {Missing{why, std::move(text)}, Source{metrics.source().path, 0, ""}};
}

}  // namespace

std::string to_string(const Throttling& throttling) {
  std::vector<std::string> words;
  if (throttling.power) words.emplace_back("power");
  if (throttling.current) words.emplace_back("current");
  if (throttling.temperature) words.emplace_back("temperature");
  if (throttling.other) words.emplace_back("another limit");
  return join(words, ", ");
}

Fact<Throttling> parse_throttling(const Text& metrics) {
  if (!metrics) return metrics.absent<Throttling>();
  if (metrics->size() < header_bytes) return none(Why::not_understood, "too short", metrics);
  const auto format = static_cast<unsigned>(read_number(*metrics, 2, 1));
  const auto content = static_cast<unsigned>(read_number(*metrics, 3, 1));
  const auto place = place_of(format, content);
  if (!place) {
    return none(Why::not_applicable,
                "gpu_metrics " + std::to_string(format) + "." + std::to_string(content), metrics);
  }
  constexpr std::size_t size = sizeof(std::uint64_t);
  if (metrics->size() < *place + size) return none(Why::not_understood, "too short", metrics);
  const std::uint64_t bits = read_number(*metrics, *place, size);
  if (bits == std::numeric_limits<std::uint64_t>::max()) {
    return none(Why::not_present, "the driver does not fill it in", metrics);
  }
  constexpr std::uint64_t group = 0xffff;
  Throttling throttling;
  throttling.power = (bits & group) != 0;
  throttling.current = (bits >> 16U & group) != 0;
  throttling.temperature = (bits >> 32U & group) != 0;
  throttling.other = bits >> 48U != 0;
  return {throttling, Source{metrics.source().path, 0, to_string(throttling)}};
}

}  // namespace headroom::facts
