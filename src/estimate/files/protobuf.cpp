// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/protobuf.h"

#include <fmt/format.h>

namespace headroom::estimate {
namespace {

const char* const again = "give the path of an .onnx file; if it is one, download it again";

}  // namespace

std::uint64_t read_varint(Cursor& cursor) {
  std::uint64_t value = 0;
  for (std::uint32_t shift = 0; shift < 64; shift += 7) {
    const std::uint64_t byte = cursor.read_number(1);
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  cursor.fail(fmt::format("before byte {}: a number of more than 64 bits", cursor.position()),
              again);
  return 0;
}

std::optional<ProtobufField> read_field(Cursor& cursor) {
  if (cursor.at_end()) return std::nullopt;
  const std::uint64_t tag = read_varint(cursor);
  ProtobufField field{static_cast<std::uint32_t>(tag >> 3U)};
  switch (tag & 7U) {
    case 0:
      field.value = read_varint(cursor);
      break;
    case 1:
      field.value = cursor.read_number(8);
      break;
    case 2:
      field.value = read_varint(cursor);
      field.is_part = true;
      break;
    case 5:
      field.value = cursor.read_number(4);
      break;
    default:
      field.number = 0;
  }
  if (cursor.ok() && (field.number == 0 || tag >> 3U > 0x1fffffffU)) {
    cursor.fail(fmt::format("before byte {}: expected a field of a message, found tag {}",
                            cursor.position(), tag),
                again);
  }
  if (!cursor.ok()) return std::nullopt;
  return field;
}

}  // namespace headroom::estimate
