// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/gguf_header.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "base/encoding.h"
#include "estimate/files/cursor.h"
#include "estimate/files/gguf_types.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t header_limit = std::uint64_t{1} << 30U;
constexpr std::uint64_t text_limit = std::uint64_t{64} << 20U;  // Of all that is kept.
constexpr std::uint64_t key_limit = 65535;                      // By the format.
constexpr std::uint64_t kept_text = 4096;
constexpr std::uint64_t kept_numbers = 4096;  // More than any model has layers.
constexpr std::uint64_t count_limit = 1U << 20U;
constexpr std::uint64_t dimensions_limit = 4;  // GGML_MAX_DIMS
const char* const again = "download or copy the file again, and compare its size or checksum";

enum Kind : std::uint64_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  list,
  u64,
  i64,
  f64,
  kinds,
};
constexpr std::array<std::uint32_t, kinds> kind_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

bool is_signed(std::uint64_t kind) {
  return kind == i8 || kind == i16 || kind == i32 || kind == i64;
}

std::int64_t sign_extended(std::uint64_t bits, std::uint32_t bytes) {
  const std::uint32_t shift = 64 - 8 * bytes;
  return static_cast<std::int64_t>(bits << shift) >> shift;
}

class GgufReader {
 public:
  explicit GgufReader(const RandomAccess& file)
      : file_bytes_(file.size()), cursor_(file, header_limit, text_limit) {}

  Result<GgufHeader> read() {
    read_version();
    const std::uint64_t tensors = number(8);
    const std::uint64_t pairs = number(8);
    if (tensors > count_limit || pairs > count_limit) {
      cursor_.fail(fmt::format("expected at most {} tensors and keys, found {} and {}", count_limit,
                               tensors, pairs),
                   again);
    }
    for (std::uint64_t i = 0; i < pairs && cursor_.ok(); ++i) read_pair();
    for (std::uint64_t i = 0; i < tensors && cursor_.ok(); ++i) read_tensor();
    check_data();
    if (!cursor_.ok()) return cursor_.problem();
    header_.weights.format = WeightFileFormat::gguf;
    return std::move(header_);
  }

 private:
  std::uint64_t number(std::uint32_t bytes) {
    return cursor_.read_number(bytes, header_.big_endian);
  }

  void read_version() {
    const std::string magic = cursor_.read_text(4, 4, "a mark");
    if (cursor_.ok() && magic != "GGUF") {
      cursor_.fail("expected a GGUF file, which begins with \"GGUF\"; this one does not",
                   "give the path of a .gguf file, or of a model's folder");
    }
    auto version = static_cast<std::uint32_t>(number(4));
    // Versions are small: the file is of the other byte order if the low half is empty.
    header_.big_endian = version != 0 && (version & 0xffffU) == 0;
    if (header_.big_endian) version = __builtin_bswap32(version);
    header_.version = version;
    if (version != 2 && version != 3) {
      cursor_.fail(fmt::format("expected GGUF version 2 or 3, found {}", version),
                   version == 1 ? "convert the model again with a newer llama.cpp" : again);
    }
  }

  std::string read_name(std::uint64_t max, const char* what) {
    std::string name = cursor_.read_text(number(8), max, what);
    if (cursor_.ok() && (name.empty() || !is_utf8(name))) {
      cursor_.fail(fmt::format("before byte {}: expected {}, found {}", cursor_.position(), what,
                               name.empty() ? "an empty text" : "bytes that are no text"),
                   again);
    }
    return name;
  }

  void read_pair() {
    std::string key = read_name(key_limit, "a key");
    const std::uint64_t kind = number(4);
    GgufValue value = kind == list ? GgufValue(read_array(key)) : read_value(kind, key);
    if (!cursor_.ok()) return;
    if (!header_.metadata.emplace(key, std::move(value)).second)
      cursor_.fail(fmt::format("the key {} is there twice", key), again);
  }

  GgufValue read_value(std::uint64_t kind, const std::string& key) {
    if (kind == text) {
      const std::uint64_t length = number(8);
      if (length > kept_text) {
        cursor_.skip(length);
        return std::string();
      }
      std::string value = cursor_.read_text(length, kept_text, "a text");
      return is_utf8(value) ? std::move(value) : std::string();
    }
    if (kind >= kinds || kind == list) {
      cursor_.fail(fmt::format("{}: expected a kind of value below {}, found {}", key,
                               static_cast<std::uint64_t>(kinds), kind),
                   again);
      return false;
    }
    const std::uint64_t bits = number(kind_bytes[kind]);
    if (kind == boolean) return bits != 0;
    if (kind == f32) return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))};
    if (kind == f64) return std::bit_cast<double>(bits);
    if (is_signed(kind)) return sign_extended(bits, kind_bytes[kind]);
    return bits;
  }

  GgufArray read_array(const std::string& key) {
    const std::uint64_t kind = number(4);
    GgufArray array{number(8), {}};
    if (kind >= kinds || kind == list) {
      cursor_.fail(fmt::format("{}: expected an array of plain values, found kind {}", key, kind),
                   again);
    } else if (kind == text) {
      for (std::uint64_t i = 0; i < array.length && cursor_.ok(); ++i) cursor_.skip(number(8));
    } else if (array.length > kept_numbers) {
      skip_elements(array.length, kind_bytes[kind]);
    } else {
      for (std::uint64_t i = 0; i < array.length && cursor_.ok(); ++i)
        array.numbers.push_back(as_real(read_value(kind, key)));
    }
    return array;
  }

  void skip_elements(std::uint64_t count, std::uint64_t bytes) {
    // What would overflow is more than there is.
    cursor_.skip(count > UINT64_MAX / bytes ? UINT64_MAX : count * bytes);
  }

  static double as_real(const GgufValue& value) {
    if (const auto* whole = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    const auto* flag = std::get_if<bool>(&value);
    return flag != nullptr && *flag ? 1 : 0;
  }

  void read_tensor() {
    StoredTensor tensor;
    tensor.name = read_name(key_limit, "a tensor's name");
    const std::uint64_t dimensions = number(4);
    if (dimensions > dimensions_limit) {
      cursor_.fail(fmt::format("tensor {}: expected at most {} dimensions, found {}", tensor.name,
                               dimensions_limit, dimensions),
                   again);
      return;
    }
    std::uint64_t elements = 1;
    for (std::uint64_t i = 0; i < dimensions; ++i) {
      const std::uint64_t size = number(8);
      tensor.shape.insert(tensor.shape.begin(), size);
      if (size != 0 && elements > INT64_MAX / size) {
        cursor_.fail(fmt::format("tensor {}: its size exceeds 63 bits", tensor.name), again);
        return;
      }
      elements *= size;
    }
    const std::uint64_t kind = number(4);
    const std::uint64_t offset = number(8);
    if (cursor_.ok()) add_tensor(std::move(tensor), elements, {kind, offset});
  }

  struct Storage {
    std::uint64_t kind = 0;
    std::uint64_t offset = 0;  // From the start of the data.
  };

  void add_tensor(StoredTensor tensor, std::uint64_t elements, Storage storage) {
    const GgmlType* type = find_ggml_type(storage.kind);
    if (type == nullptr) {
      cursor_.fail(fmt::format("tensor {}: this version does not know ggml's type {}", tensor.name,
                               storage.kind),
                   "convert the model with a current llama.cpp, or take another quantisation");
      return;
    }
    const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
    const std::uint64_t blocks = elements / type->block_elements;
    if (row % type->block_elements != 0 || blocks > INT64_MAX / type->block_bytes) {
      cursor_.fail(fmt::format("tensor {}: rows of {} elements do not divide into blocks of {} "
                               "({}), or exceed 63 bits",
                               tensor.name, row, type->block_elements, type->name),
                   again);
      return;
    }
    if (!names_.insert(tensor.name).second) {
      cursor_.fail(fmt::format("tensor {} is there twice", tensor.name), again);
      return;
    }
    tensor.type = type->name;
    tensor.bytes = blocks * type->block_bytes;
    offsets_.push_back(storage.offset);
    header_.weights.tensors.push_back(std::move(tensor));
  }

  // Tensors lie one after the other, each at a multiple of the alignment.
  void check_data() {
    if (!cursor_.ok()) return;
    const std::uint64_t alignment = header_.number("general.alignment").value_or(32);
    if (!std::has_single_bit(alignment) || alignment > 1U << 20U) {
      cursor_.fail(fmt::format("general.alignment: expected a power of two, found {}", alignment),
                   again);
      return;
    }
    const std::uint64_t start = (cursor_.position() + alignment - 1) / alignment * alignment;
    const std::uint64_t available = file_bytes_ > start ? file_bytes_ - start : 0;
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const StoredTensor& tensor = header_.weights.tensors[i];
      if (offsets_[i] != next) {
        cursor_.fail(fmt::format("tensor {}: expected its data at byte {} of the data, found {}",
                                 tensor.name, next, offsets_[i]),
                     again);
        return;
      }
      if (tensor.bytes > available || next > available - tensor.bytes) {
        cursor_.fail(fmt::format("the file is cut off: tensor {} ends at byte {} of the data, and "
                                 "the file holds {}",
                                 tensor.name, next + tensor.bytes, available),
                     again);
        return;
      }
      header_.weights.bytes += tensor.bytes;
      next = (next + tensor.bytes + alignment - 1) / alignment * alignment;
    }
  }

  std::uint64_t file_bytes_;
  Cursor cursor_;
  GgufHeader header_;
  std::set<std::string> names_;
  std::vector<std::uint64_t> offsets_;
};

const GgufValue* find(const GgufHeader& header, const std::string& key) {
  const auto found = header.metadata.find(key);
  return found == header.metadata.end() ? nullptr : &found->second;
}

}  // namespace

const std::string* GgufHeader::text(const std::string& key) const {
  const GgufValue* value = find(*this, key);
  return value == nullptr ? nullptr : std::get_if<std::string>(value);
}

std::optional<std::uint64_t> GgufHeader::number(const std::string& key) const {
  const GgufValue* value = find(*this, key);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::uint64_t>(value)) return *whole;
  const auto* whole = std::get_if<std::int64_t>(value);
  if (whole == nullptr || *whole < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*whole);
}

std::optional<double> GgufHeader::real(const std::string& key) const {
  const GgufValue* value = find(*this, key);
  const auto* found = value == nullptr ? nullptr : std::get_if<double>(value);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

const GgufArray* GgufHeader::array(const std::string& key) const {
  const GgufValue* value = find(*this, key);
  return value == nullptr ? nullptr : std::get_if<GgufArray>(value);
}

Result<GgufHeader> read_gguf_header(const RandomAccess& file) {
  return GgufReader(file).read();
}

}  // namespace headroom::estimate
