// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/document.h"

namespace headroom::estimate {
namespace {

constexpr std::size_t length_bytes = 8;

Error broken(const std::string& what) {
  return {Errc::invalid, what, "download or copy the file again, and compare its size or checksum"};
}

// The product of the shape and the element size, or nothing if it overflows or a size is negative.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape,
                                      std::uint64_t element) {
  std::uint64_t bytes = element;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor != 0 && bytes > std::numeric_limits<std::int64_t>::max() / factor) {
      return std::nullopt;
    }
    bytes *= factor;
  }
  return bytes;
}

bool is_list_of_integers(const Json& list) {
  return list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& element) {
           return element.is_number_integer() &&
                  (!element.is_number_unsigned() ||
                   element.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
         });
}

Result<SafetensorsEntry> parse_entry(const std::string& name, const Json& json, FileExtent extent) {
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key); };
  if (!has("dtype") || !json["dtype"].is_string() || !has("shape") ||
      !is_list_of_integers(json["shape"]) || !has("data_offsets") ||
      !is_list_of_integers(json["data_offsets"]) || json["data_offsets"].size() != 2) {
    return broken(fmt::format("tensor {}: expected dtype, shape and two data_offsets, found {}",
                              name, json.dump().substr(0, 200)));
  }
  SafetensorsEntry entry;
  entry.dtype = json["dtype"].get<std::string>();
  entry.shape = json["shape"].get<std::vector<std::int64_t>>();
  const std::uint64_t element = safetensors_element_bytes(entry.dtype);
  if (element == 0) {
    return Error{
        Errc::unsupported,
        fmt::format("tensor {}: the dtype {} is not one of the format's", name, entry.dtype),
        "convert the file to F32 or BF16"};
  }
  const auto begin = json["data_offsets"][0].get<std::int64_t>();
  const auto end = json["data_offsets"][1].get<std::int64_t>();
  const auto expected = bytes_of(entry.shape, element);
  if (!expected || begin < 0 || end < begin ||
      static_cast<std::uint64_t>(end - begin) != *expected) {
    return broken(
        fmt::format("tensor {}: expected {} bytes for {} of shape [{}], found offsets {} to {}",
                    name, expected ? std::to_string(*expected) : "fewer than 2^63", entry.dtype,
                    fmt::join(entry.shape, ", "), begin, end));
  }
  const std::uint64_t available = extent.file_bytes - extent.data_start;
  if (static_cast<std::uint64_t>(end) > available) {
    return broken(
        fmt::format("the file is cut off: tensor {} ends at byte {} of the data, and the "
                    "file holds {}",
                    name, end, available));
  }
  entry.offset = extent.data_start + static_cast<std::uint64_t>(begin);
  entry.bytes = *expected;
  return entry;
}

// Every byte of the data belongs to one tensor: neither overlaps nor gaps.
Status check_layout(const SafetensorsHeader& header, FileExtent extent) {
  std::vector<std::pair<std::uint64_t, std::string>> order;
  order.reserve(header.tensors.size());
  for (const auto& [name, entry] : header.tensors) order.emplace_back(entry.offset, name);
  std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return std::pair(a.first, header.tensors.at(a.second).bytes) <
           std::pair(b.first, header.tensors.at(b.second).bytes);
  });
  std::uint64_t end = extent.data_start;
  for (const auto& [offset, name] : order) {
    if (offset != end) {
      return broken(fmt::format("tensor {}: expected its data at byte {}, found {} ({})", name, end,
                                offset, offset < end ? "tensors overlap" : "a gap"));
    }
    end += header.tensors.at(name).bytes;
  }
  if (end != extent.file_bytes) {
    return broken(
        fmt::format("expected a file of {} bytes by its header, found {}", end, extent.file_bytes));
  }
  return Done{};
}

}  // namespace

std::uint64_t safetensors_element_bytes(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 14> sizes = {{{"F64", 8},
                                                                                 {"I64", 8},
                                                                                 {"U64", 8},
                                                                                 {"F32", 4},
                                                                                 {"I32", 4},
                                                                                 {"U32", 4},
                                                                                 {"F16", 2},
                                                                                 {"BF16", 2},
                                                                                 {"I16", 2},
                                                                                 {"U16", 2},
                                                                                 {"I8", 1},
                                                                                 {"U8", 1},
                                                                                 {"F8_E4M3", 1},
                                                                                 {"F8_E5M2", 1}}};
  if (dtype == "BOOL") return 1;
  for (const auto& [name, bytes] : sizes) {
    if (name == dtype) return bytes;
  }
  return 0;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, FileExtent extent) {
  auto parsed = parse_json(json);
  if (!parsed) return broken("the header is " + parsed.error().message);
  if (!parsed->is_object()) return broken("the header is JSON but no object");
  SafetensorsHeader header;
  for (const auto& [name, value] : parsed->items()) {
    if (name == "__metadata__") {
      for (const auto& [key, text] : value.items()) {
        if (!value.is_object() || !text.is_string()) {
          return broken("__metadata__: expected an object of texts");
        }
        header.metadata[key] = text.get<std::string>();
      }
      continue;
    }
    HEADROOM_TRY(header.tensors[name], parse_entry(name, value, extent));
  }
  HEADROOM_CHECK(check_layout(header, extent));
  return header;
}

Result<SafetensorsHeader> read_safetensors_header(const RandomAccess& file) {
  std::array<char, length_bytes> length{};
  HEADROOM_TRY(const std::size_t found, file.read_at(0, length));
  const std::uint64_t file_bytes = file.size();
  if (found < length.size()) {
    return broken(fmt::format("expected a safetensors file, found {} bytes", file_bytes));
  }
  std::uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < length.size(); ++i) {
    header_bytes |= std::uint64_t{static_cast<unsigned char>(length[i])} << (8 * i);
  }
  if (header_bytes > largest_safetensors_header_bytes || header_bytes > file_bytes - length_bytes) {
    return broken(
        fmt::format("its first 8 bytes announce a header of {} bytes, and the file has {} "
                    "(headers reach {}): cut off, or no safetensors file",
                    header_bytes, file_bytes, largest_safetensors_header_bytes));
  }
  std::string json(header_bytes, '\0');
  HEADROOM_TRY(const std::size_t read, file.read_at(length_bytes, json));
  if (read < json.size()) {
    return Error{Errc::invalid, "the file became shorter while it was read",
                 "make sure that nothing else writes it, and start again"};
  }
  return parse_safetensors_header(json, {length_bytes + header_bytes, file_bytes});
}

std::string make_safetensors_header(std::vector<NamedSafetensor>& entries,
                                    const std::map<std::string, std::string>& metadata) {
  Json json = Json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (NamedSafetensor& named : entries) {
    named.entry.offset = offset;
    json[named.name] = {{"dtype", named.entry.dtype},
                        {"shape", named.entry.shape},
                        {"data_offsets", {offset, offset + named.entry.bytes}}};
    offset += named.entry.bytes;
  }
  std::string text = json.dump();
  text.resize(round_up(text.size(), length_bytes), ' ');
  std::string file(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i) {
    file[i] = static_cast<char>(text.size() >> (8 * i) & 0xffU);
  }
  file += text;
  for (NamedSafetensor& named : entries) named.entry.offset += file.size();
  return file;
}

}  // namespace headroom::estimate
