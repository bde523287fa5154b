// SPDX-License-Identifier: Apache-2.0
#include "trainer/load_weights.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>
#include <vector>

#include "base/document.h"
#include "base/text.h"
#include "machine/user_files.h"
#include "trainer/safetensors_file.h"

namespace headroom::trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

bool holds(const std::string& folder, const char* name) {
  std::error_code ignored;  // What cannot be looked at fails when it is opened, with its reason.
  return fs::exists(fs::path(folder) / name, ignored);
}

// The shards that an index names, each once. They must lie in the folder itself.
Result<std::set<std::string>> read_index(const std::string& path) {
  HEADROOM_TRY(const std::string text, machine::read_file(path));
  auto index = parse_json(text);
  if (!index) return std::move(index).error().in(path);
  std::set<std::string> shards;
  const bool has_map =
      index->is_object() && index->contains("weight_map") && (*index)["weight_map"].is_object();
  if (has_map) {
    for (const auto& [name, file] : (*index)["weight_map"].items()) {
      if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos) {
        return Error{Errc::invalid,
                     fmt::format("{}: weight_map.{}: expected the name of a file in this folder, "
                                 "found {}",
                                 path, name, file.dump()),
                     "download the model again"};
      }
      shards.insert(file.get<std::string>());
    }
  }
  if (shards.empty()) {
    return Error{Errc::invalid,
                 fmt::format("{}: expected a weight_map with files, found none", path),
                 "download the model again"};
  }
  return shards;
}

Result<std::vector<SafetensorsFile>> open_files(const std::string& folder) {
  std::set<std::string> names = {single_file};
  if (!holds(folder, single_file)) {
    HEADROOM_TRY(names, read_index(folder + "/" + index_file));
  }
  std::vector<SafetensorsFile> files;
  for (const std::string& name : names) {
    HEADROOM_TRY(SafetensorsFile file, SafetensorsFile::open(folder + "/" + name));
    files.push_back(std::move(file));
  }
  return files;
}

// At most five names, and how many more there are.
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 5;
  const std::vector<std::string> some(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), shown)));
  const std::string rest =
      names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return join(some, ", ") + rest;
}

// Tensors that some exporters write although they follow from the config or from another tensor.
bool is_redundant(const std::string& name, const Model& model) {
  if (model.config().tied && name == "lm_head.weight") return true;
  if (!model.config().is_gpt2()) return name.ends_with("rotary_emb.inv_freq");
  // The causal mask and the number that stood for what it hides.
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

// Where a tensor lies, and what it is called there.
struct Place {
  const SafetensorsFile* file = nullptr;
  std::string name;

  const SafetensorsEntry& entry() const { return file->tensors().at(name); }
};

// By the names of the model's parameters. GPT-2's own files leave "transformer." out.
using Places = std::map<std::string, Place>;

std::string full_name(const std::string& name, const Model& model) {
  const bool is_short =
      model.config().is_gpt2() && !name.starts_with("transformer.") && name != "lm_head.weight";
  return is_short ? "transformer." + name : name;
}

Status check_names_and_shapes(const Places& places, const Model& model) {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> misshaped;
  std::set<std::string> expected;
  for (const Model::Stored& parameter : model.stored()) {
    expected.insert(parameter.name);
    const auto place = places.find(parameter.name);
    if (place == places.end()) {
      missing.push_back(parameter.name);
      continue;
    }
    const SafetensorsEntry& entry = place->second.entry();
    if (parameter.value.sizes() != entry.shape) {
      misshaped.push_back(fmt::format("{} (expected [{}], found [{}])", parameter.name,
                                      fmt::join(parameter.value.sizes().vec(), ", "),
                                      fmt::join(entry.shape, ", ")));
    }
  }
  for (const auto& [name, place] : places) {
    if (expected.contains(name) || is_redundant(name, model) || model.is_elsewhere(name)) continue;
    unexpected.push_back(place.name);
  }
  std::vector<std::string> problems;
  if (!missing.empty()) problems.push_back("missing: " + list_names(missing));
  if (!unexpected.empty()) problems.push_back("unexpected: " + list_names(unexpected));
  if (!misshaped.empty()) problems.push_back("of another shape: " + list_names(misshaped));
  if (problems.empty()) return Done{};
  return Error{Errc::invalid,
               "the weights do not belong to this config.json; " + join(problems, "; "),
               "use the config.json that came with the weights"};
}

}  // namespace

Result<bool> has_weights(const std::string& folder) {
  if (holds(folder, single_file) || holds(folder, index_file)) return true;
  for (const char* other : {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5",
                            "consolidated.00.pth"}) {
    if (!holds(folder, other)) continue;
    return Error{
        Errc::unsupported,
        fmt::format("{}: expected {}, found weights only as {}", folder, single_file, other),
        "convert them: in Python, model.save_pretrained(folder, safe_serialization=True)"};
  }
  return false;
}

Status load_weights(const std::string& folder, Model& model) {
  HEADROOM_TRY(const std::vector<SafetensorsFile> files, open_files(folder));
  Places places;
  for (const SafetensorsFile& file : files) {
    for (const auto& [name, entry] : file.tensors())
      places[full_name(name, model)] = Place{&file, name};
  }
  auto status = check_names_and_shapes(places, model);
  if (!status) return std::move(status).error().in(folder);
  for (const Model::Stored& parameter : model.stored()) {
    const Place& place = places.at(parameter.name);
    HEADROOM_CHECK(place.file->read(place.name, parameter.value));
  }
  return Done{};
}

}  // namespace headroom::trainer
