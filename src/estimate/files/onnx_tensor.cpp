// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/onnx_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <utility>

#include "base/encoding.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t kept_numbers = 4096;
constexpr std::uint64_t kept_values = 1024;  // Of a tensor: shapes, axes, scales are shorter.
constexpr std::size_t dimensions_limit = 64;
const char* const again = "download or export the model again";

enum Type : std::uint64_t { type_float = 1, type_int32 = 6, type_int64 = 7, type_string = 8 };

// What the fields of one TensorProto say, before it is known what they mean together.
struct Fields {
  std::vector<std::int64_t> shape;
  std::uint64_t type = 0;
  std::string name;
  std::vector<std::int64_t> wholes;  // int32_data, int64_data
  std::vector<double> reals;         // float_data
  std::optional<std::uint64_t> raw_bytes;
  std::string raw;  // If it is short.
  bool external = false;
};

Fields read_fields(Cursor& cursor) {
  Fields fields;
  each_field(cursor, [&](const ProtobufField& field) {
    const std::uint64_t length = cursor.left();
    switch (field.number) {
      case 1:
        add_onnx_wholes(cursor, field, fields.shape);
        break;
      case 2:
        if (!field.is_part) fields.type = field.value;
        break;
      case 4:
        add_onnx_reals(cursor, field, fields.reals);
        break;
      case 5:
      case 7:
        add_onnx_wholes(cursor, field, fields.wholes);
        break;
      case 8:
        if (field.is_part) fields.name = cursor.read_text(length, 65536, "a name");
        break;
      case 9:
        if (!field.is_part) break;
        fields.raw_bytes = length;
        if (length <= 8 * kept_values)
          fields.raw = cursor.read_text(length, length, "a tensor's data");
        break;
      case 14:
        if (!field.is_part) fields.external = field.value == 1;
        break;
      default:
        break;
    }
  });
  return fields;
}

template <class Number>
std::vector<double> to_numbers(const std::string& raw) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i + sizeof(Number) <= raw.size(); i += sizeof(Number)) {
    std::uint64_t bits = 0;
    for (std::size_t j = 0; j < sizeof(Number); ++j)
      bits |= std::uint64_t{static_cast<unsigned char>(raw[i + j])} << (8 * j);
    if constexpr (sizeof(Number) == 8) {
      numbers.push_back(static_cast<double>(std::bit_cast<Number>(bits)));
    } else {
      numbers.push_back(
          static_cast<double>(std::bit_cast<Number>(static_cast<std::uint32_t>(bits))));
    }
  }
  return numbers;
}

std::vector<double> values_of(const Fields& fields) {
  if (fields.type == type_int64)
    return fields.raw_bytes ? to_numbers<std::int64_t>(fields.raw)
                            : std::vector<double>(fields.wholes.begin(), fields.wholes.end());
  if (fields.type == type_int32)
    return fields.raw_bytes ? to_numbers<std::int32_t>(fields.raw)
                            : std::vector<double>(fields.wholes.begin(), fields.wholes.end());
  if (fields.type == type_float)
    return fields.raw_bytes ? to_numbers<float>(fields.raw) : fields.reals;
  return {};
}

bool check(Cursor& cursor, const Fields& fields, const OnnxTensor& tensor) {
  if (!is_utf8(fields.name)) {
    cursor.fail("expected names in UTF-8, found other bytes", again);
  } else if (find_onnx_type(fields.type) == nullptr) {
    cursor.fail(fmt::format("tensor {}: this version does not know ONNX's type {}", tensor.name,
                            fields.type),
                "export the model in fp32 or fp16");
  } else if (fields.raw_bytes && !fields.external && fields.type != type_string &&
             *fields.raw_bytes != tensor.bytes) {
    cursor.fail(fmt::format("tensor {}: expected {} bytes for {} of shape [{}], found {}",
                            tensor.name, tensor.bytes, find_onnx_type(fields.type)->name,
                            fmt::join(tensor.shape, ", "), *fields.raw_bytes),
                again);
  }
  return cursor.ok();
}

}  // namespace

void add_onnx_wholes(Cursor& cursor, const ProtobufField& field, std::vector<std::int64_t>& into) {
  if (!field.is_part) {
    if (into.size() < kept_numbers) into.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  while (!cursor.at_end() && into.size() < kept_numbers)
    into.push_back(static_cast<std::int64_t>(read_varint(cursor)));
}

void add_onnx_reals(Cursor& cursor, const ProtobufField& field, std::vector<double>& into) {
  const auto add = [&](std::uint64_t bits) {
    into.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  };
  if (!field.is_part) {
    if (into.size() < kept_numbers) add(field.value);
    return;
  }
  while (!cursor.at_end() && into.size() < kept_numbers) add(cursor.read_number(4));
}

OnnxTensor read_onnx_tensor(Cursor& cursor) {
  const Fields fields = read_fields(cursor);
  OnnxTensor tensor;
  tensor.name = fields.name;
  tensor.type = fields.type;
  tensor.external = fields.external;
  if (fields.shape.size() > dimensions_limit) {
    cursor.fail(fmt::format("tensor {}: expected at most {} dimensions, found {}", tensor.name,
                            dimensions_limit, fields.shape.size()),
                again);
    return tensor;
  }
  for (const std::int64_t size : fields.shape) {
    if (size < 0) {
      cursor.fail(fmt::format("tensor {}: expected a shape, found [{}]", tensor.name,
                              fmt::join(fields.shape, ", ")),
                  again);
      return tensor;
    }
    tensor.shape.push_back(static_cast<std::uint64_t>(size));
  }
  const auto bytes = onnx_bytes(tensor.shape, tensor.type);
  if (!bytes && find_onnx_type(tensor.type) != nullptr && cursor.ok())
    cursor.fail(fmt::format("tensor {}: its size exceeds 63 bits", tensor.name), again);
  tensor.bytes = bytes.value_or(0);
  if (!cursor.ok() || !check(cursor, fields, tensor)) return tensor;
  std::vector<double> values = values_of(fields);
  const std::uint64_t elements = onnx_bytes(tensor.shape, 2).value_or(0);  // UINT8: one byte each.
  if (elements <= kept_values && values.size() == elements) tensor.values = std::move(values);
  return tensor;
}

}  // namespace headroom::estimate
