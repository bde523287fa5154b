// SPDX-License-Identifier: Apache-2.0
#include "run/weight_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "estimate/files/gguf_config.h"
#include "estimate/files/gguf_header.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr std::uint64_t shards_max = 10'000;

// "…-00002-of-00003.gguf": what is in front, and how many there are.
struct ShardName {
  std::string stem;
  std::uint64_t number = 0;
  std::uint64_t count = 0;

  std::string path(std::uint64_t i) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, count);
  }
};

std::optional<ShardName> parse_shard_name(const std::string& path) {
  constexpr std::size_t tail = sizeof("-00001-of-00003.gguf") - 1;
  if (path.size() <= tail) return std::nullopt;
  const std::string end = path.substr(path.size() - tail);
  const auto number = parse_u64(end.substr(1, 5));
  const auto count = parse_u64(end.substr(10, 5));
  const bool right = end[0] == '-' && end.substr(6, 4) == "-of-" && end.substr(15) == ".gguf";
  if (!right || !number || !count || *number == 0 || *number > *count || *count > shards_max)
    return std::nullopt;
  return ShardName{path.substr(0, path.size() - tail), *number, *count};
}

template <class Value>
Result<Value> read_with(const std::string& path, Result<Value> (*read)(const RandomAccess&)) {
  auto file = machine::open_file(path);
  if (!file) return Error{file.error().code, file.error().message, "correct the path"};
  auto value = read(**file);
  if (!value) return std::move(value).error().in(path);
  return value;
}

// The files that an index names, each once. They must lie in the folder itself.
Result<std::set<std::string>> read_index(const std::string& path) {
  HEADROOM_TRY(const std::string text, machine::read_file(path));
  auto index = parse_json(text);
  if (!index) return std::move(index).error().in(path);
  std::set<std::string> names;
  const auto map = index->is_object() ? index->find("weight_map") : index->end();
  if (map != index->end() && map->is_object()) {
    for (const auto& [tensor, name] : map->items()) {
      if (!name.is_string() || name.get<std::string>().find('/') != std::string::npos) {
        return Error{Errc::invalid,
                     fmt::format("{}: weight_map.{}: expected the name of a file in this folder, "
                                 "found {}",
                                 path, tensor, name.dump(-1, ' ', true).substr(0, 60)),
                     "download the model again"};
      }
      names.insert(name.get<std::string>());
    }
  }
  if (names.empty()) {
    return Error{Errc::invalid,
                 fmt::format("{}: expected a weight_map with files, found none", path),
                 "download the model again"};
  }
  return names;
}

bool holds(const std::vector<std::string>& names, const char* name) {
  return std::binary_search(names.begin(), names.end(), name);
}

}  // namespace

std::optional<estimate::WeightFileFormat> weight_format_of(const std::string& path) {
  if (path.ends_with(".gguf")) return estimate::WeightFileFormat::gguf;
  if (path.ends_with(".onnx")) return estimate::WeightFileFormat::onnx;
  if (path.ends_with(".safetensors")) return estimate::WeightFileFormat::safetensors;
  return std::nullopt;
}

Result<estimate::GgufHeader> read_gguf_parts(const std::string& path) {
  const auto shard = parse_shard_name(path);
  HEADROOM_TRY(estimate::GgufHeader header,
               read_with(shard ? shard->path(1) : path, estimate::read_gguf_header));
  const std::uint64_t count = header.number("split.count").value_or(1);
  if (count > 1 && (!shard || shard->count != count)) {
    return Error{
        Errc::invalid,
        fmt::format("{}: it is one of {} parts, and its name does not say which", path, count),
        fmt::format("name the parts as they were: …-00001-of-{:05}.gguf", count)};
  }
  for (std::uint64_t i = 2; shard && i <= shard->count; ++i) {
    HEADROOM_TRY(estimate::GgufHeader part, read_with(shard->path(i), estimate::read_gguf_header));
    auto added = estimate::add_shard(header.weights, std::move(part.weights));
    if (!added) return std::move(added).error().in(shard->path(i));
  }
  return header;
}

Result<GgufModel> read_gguf(const std::string& path) {
  HEADROOM_TRY(estimate::GgufHeader header, read_gguf_parts(path));
  auto config = estimate::to_config(header);
  if (!config) return std::move(config).error().in(path);
  return GgufModel{std::move(header.weights), *std::move(config)};
}

Result<std::shared_ptr<const estimate::OnnxModel>> read_onnx(const std::string& path) {
  HEADROOM_TRY(estimate::OnnxModel model, read_with(path, estimate::read_onnx_model));
  return std::make_shared<const estimate::OnnxModel>(std::move(model));
}

Result<estimate::WeightFile> read_safetensors(const std::string& path) {
  return read_with(path, estimate::read_safetensors);
}

Result<std::optional<estimate::WeightFile>> read_folder_weights(const std::string& folder) {
  HEADROOM_TRY(const auto present, machine::list_folder(folder));
  std::set<std::string> names = {single_file};
  if (holds(present, index_file)) {
    HEADROOM_TRY(names, read_index(folder + "/" + index_file));
  } else if (!holds(present, single_file)) {
    return std::optional<estimate::WeightFile>();
  }
  estimate::WeightFile whole;
  for (const std::string& name : names) {
    HEADROOM_TRY(estimate::WeightFile part, read_safetensors(folder + "/" + name));
    auto added = estimate::add_shard(whole, std::move(part));
    if (!added) return std::move(added).error().in(folder + "/" + name);
  }
  return std::optional(std::move(whole));
}

Result<std::vector<std::string>> list_weight_files(const std::string& folder) {
  HEADROOM_TRY(std::vector<std::string> names, machine::list_folder(folder));
  std::erase_if(names, [](const std::string& name) {
    const auto format = weight_format_of(name);
    const auto shard = parse_shard_name(name);
    return !format || *format == estimate::WeightFileFormat::safetensors ||
           (shard && shard->number != 1);
  });
  return names;
}

}  // namespace headroom::run
