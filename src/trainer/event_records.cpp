// SPDX-License-Identifier: Apache-2.0
#include "trainer/event_records.h"

#include <array>
#include <bit>
#include <cstddef>

namespace headroom::trainer {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t polynomial = 0x82f63b78U;  // Reflected.
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? polynomial : 0);
    table.at(byte) = rest;
  }
  return table;
}

// record_writer.h, MaskCrc: a checksum of bytes that hold checksums would be weak.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t mask_delta = 0xa282ead8U;
  return std::rotr(crc32c(bytes), 15) + mask_delta;
}

template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    bytes += static_cast<char>((number >> (8 * i)) & 0xffU);
  return bytes;
}

// protobuf.dev/programming-guides/encoding: a field is a key and a value.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  constexpr std::uint64_t seven_bits = 0x7f;
  std::string bytes;
  for (; value > seven_bits; value >>= 7U) bytes += static_cast<char>((value & seven_bits) | 0x80U);
  return bytes + static_cast<char>(value);
}

std::string key(std::uint32_t field, Wire wire) {
  return varint((std::uint64_t{field} << 3U) | static_cast<std::uint8_t>(wire));
}

std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return key(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}

std::string number_field(std::uint32_t field, std::uint64_t number) {
  return key(field, Wire::varint) + varint(number);
}

// Event.wall_time.
std::string time_field(double wall_s) {
  return key(1, Wire::fixed64) + little_endian(std::bit_cast<std::uint64_t>(wall_s));
}

// Event.step.
std::string step_field(std::uint64_t step) {
  return number_field(2, step);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes)
    crc = table.at((crc ^ static_cast<unsigned char>(byte)) & 0xffU) ^ (crc >> 8U);
  return ~crc;
}

std::string to_record(std::string_view message) {
  const std::string length = little_endian(std::uint64_t{message.size()});
  return length + little_endian(masked_crc(length)) + std::string(message) +
         little_endian(masked_crc(message));
}

std::string version_record(double wall_s) {
  return to_record(time_field(wall_s) + bytes_field(3, "brain.Event:2"));
}

std::string session_record(double wall_s, std::uint64_t step) {
  const std::string start = number_field(1, 1);  // SessionLog.status = START
  return to_record(time_field(wall_s) + step_field(step) + bytes_field(7, start));
}

std::string scalar_record(double wall_s, std::uint64_t step, const Scalars& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    // Summary.value: its tag and its simple_value.
    summary += bytes_field(1, bytes_field(1, tag) + key(2, Wire::fixed32) + little_endian(bits));
  }
  return to_record(time_field(wall_s) + step_field(step) + bytes_field(5, summary));
}

}  // namespace headroom::trainer
