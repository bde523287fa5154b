// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers on the wire (https://protobuf.dev/programming-guides/encoding/): fields in a
// row, each with a number and one of four kinds. Read here rather than by libprotobuf because its
// classes hold a whole message, and the messages of ONNX hold the weights: we pass over those.
#pragma once

#include <cstdint>
#include <optional>

#include "estimate/files/cursor.h"

namespace headroom::estimate {

struct ProtobufField {
  std::uint32_t number = 0;
  bool is_part = false;     // A message, text, bytes or packed numbers: the cursor is inside.
  std::uint64_t value = 0;  // Else: the number's bits, whatever its width.
};

std::uint64_t read_varint(Cursor& cursor);

// The next field's number, kind and, of a plain number, value. Nothing at the end of what the
// cursor is in. Of a part the length is in `value`.
std::optional<ProtobufField> read_field(Cursor& cursor);

// Calls `read(field)` for each field of the message that the cursor is in. What `read` leaves of a
// part is passed over.
template <class Read>
void each_field(Cursor& cursor, Read read) {
  while (const auto field = read_field(cursor)) {
    const std::uint64_t outer = field->is_part ? cursor.enter(field->value) : cursor.end();
    if (cursor.ok()) read(*field);
    if (field->is_part) cursor.leave(outer);
  }
}

}  // namespace headroom::estimate
