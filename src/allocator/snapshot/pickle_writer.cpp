// SPDX-License-Identifier: Apache-2.0
#include "allocator/snapshot/pickle_writer.h"

namespace headroom::allocator {

PickleWriter::PickleWriter() : bytes_("\x80\x04") {}

void PickleWriter::little_endian(std::uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    bytes_ += static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
}

void PickleWriter::integer(std::uint64_t value) {
  if (value < 0x100) {
    bytes_ += 'K';
    little_endian(value, 1);
  } else if (value < 0x10000) {
    bytes_ += 'M';
    little_endian(value, 2);
  } else if (value < 0x80000000) {
    bytes_ += 'J';
    little_endian(value, 4);
  } else {
    // Two's complement in as many bytes as leave the sign clear.
    unsigned count = 5;
    while (count < 8 && (value >> (8 * count - 1)) != 0) ++count;
    const bool extra = (value >> 63U) != 0;
    bytes_ += '\x8a';
    little_endian(count + (extra ? 1 : 0), 1);
    little_endian(value, count);
    if (extra) bytes_ += '\0';
  }
}

void PickleWriter::boolean(bool value) {
  bytes_ += value ? '\x88' : '\x89';
}

void PickleWriter::text(std::string_view value) {
  const auto [known, is_new] = texts_.try_emplace(std::string(value), remembered_);
  if (!is_new) {
    recall(known->second);
    return;
  }
  if (value.size() < 0x100) {
    bytes_ += '\x8c';
    little_endian(value.size(), 1);
  } else {
    bytes_ += 'X';
    little_endian(value.size(), 4);
  }
  bytes_ += value;
  remember();
}

std::uint32_t PickleWriter::remember() {
  bytes_ += '\x94';
  return remembered_++;
}

void PickleWriter::recall(std::uint32_t number) {
  bytes_ += number < 0x100 ? 'h' : 'j';
  little_endian(number, number < 0x100 ? 1 : 4);
}

std::string PickleWriter::take() {
  bytes_ += '.';
  return std::move(bytes_);
}

}  // namespace headroom::allocator
