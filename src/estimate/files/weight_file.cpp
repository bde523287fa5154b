// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/weight_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "estimate/files/safetensors_header.h"

namespace headroom::estimate {
namespace {

// Bytes of an element of a type that transformers' torch_dtype converts on loading.
std::uint64_t float_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> floats = {
      {{"F64", 8}, {"F32", 4}, {"BF16", 2}, {"F16", 2}}};
  for (const auto& [name, bytes] : floats) {
    if (name == type) return bytes;
  }
  return 0;
}

}  // namespace

std::string_view to_string(WeightFileFormat format) {
  switch (format) {
    case WeightFileFormat::safetensors:
      return "safetensors";
    case WeightFileFormat::gguf:
      return "GGUF";
    case WeightFileFormat::onnx:
      return "ONNX";
  }
  return "safetensors";
}

const StoredTensor* WeightFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::map<std::string, std::uint64_t> WeightFile::bytes_by_type() const {
  std::map<std::string, std::uint64_t> sums;
  for (const StoredTensor& tensor : tensors) sums[tensor.type] += tensor.bytes;
  return sums;
}

Status add_shard(WeightFile& whole, WeightFile shard) {
  std::set<std::string_view> names;
  for (const StoredTensor& tensor : whole.tensors) names.insert(tensor.name);
  for (const StoredTensor& tensor : shard.tensors) {
    if (!names.contains(tensor.name)) continue;
    return Error{Errc::invalid, fmt::format("tensor {} is in two files of this model", tensor.name),
                 "keep the files of one model only in its folder, or download it again"};
  }
  if (shard.bytes > UINT64_MAX - whole.bytes) {
    return Error{Errc::invalid, "the tensors of all files together exceed 64 bits",
                 "download the model again"};
  }
  whole.bytes += shard.bytes;
  std::move(shard.tensors.begin(), shard.tensors.end(), std::back_inserter(whole.tensors));
  return Done{};
}

Meta loaded_as(const StoredTensor& tensor, WeightFileFormat format, DType dtype) {
  const std::uint64_t element =
      format == WeightFileFormat::safetensors ? float_bytes(tensor.type) : 0;
  if (element == 0) return {{tensor.bytes}, Element::uint8};
  if (tensor.shape.size() > Shape::dimensions_max)
    return {{tensor.bytes / element}, element_of(dtype)};
  Meta meta{{}, element_of(dtype)};
  for (const std::uint64_t size : tensor.shape) meta.shape.push_back(size);
  return meta;
}

bool is_packed(const WeightFile& file) {
  return std::any_of(file.tensors.begin(), file.tensors.end(), [&](const StoredTensor& tensor) {
    return file.format == WeightFileFormat::gguf ||
           (file.format == WeightFileFormat::safetensors &&
            (tensor.type == "I32" || tensor.type == "U8" || tensor.type == "I8"));
  });
}

std::string to_text(const WeightFile& file) {
  std::vector<std::pair<std::uint64_t, std::string>> types;
  for (const auto& [type, bytes] : file.bytes_by_type()) types.emplace_back(bytes, type);
  std::sort(types.rbegin(), types.rend());
  std::vector<std::string> parts;
  for (const auto& [bytes, type] : types)
    parts.push_back(fmt::format("{} {}", type, headroom::to_string(Bytes{bytes})));
  return fmt::format("{}, {} tensors, {}{}{}", to_string(file.format), file.tensors.size(),
                     headroom::to_string(Bytes{file.bytes}), parts.empty() ? "" : ": ",
                     join(parts, ", "));
}

Result<WeightFile> read_safetensors(const RandomAccess& bytes) {
  HEADROOM_TRY(const SafetensorsHeader header, read_safetensors_header(bytes));
  WeightFile file;
  for (const auto& [name, entry] : header.tensors) {
    file.tensors.push_back(
        {name, {entry.shape.begin(), entry.shape.end()}, entry.dtype, entry.bytes});
    file.bytes += entry.bytes;  // They lie side by side in the file: no overflow.
  }
  return file;
}

}  // namespace headroom::estimate
