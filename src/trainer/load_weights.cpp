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
#include "trainer/stored_quantised.h"
#include "trainer/tensor_places.h"

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
  if (name.ends_with(".weight_format")) return true;  // Of int8: how a GPU had it in memory.
  if (!model.config().is_gpt2()) return name.ends_with("rotary_emb.inv_freq");
  // The causal mask and the number that stood for what it hides.
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

std::string full_name(const std::string& name, const Model& model) {
  const bool is_short =
      model.config().is_gpt2() && !name.starts_with("transformer.") && name != "lm_head.weight";
  return is_short ? "transformer." + name : name;
}

// GPT-2's matrices are [in, out] in its files, unless these are quantised.
bool is_stored_by_input(const Model& model) {
  return model.config().is_gpt2();
}

// A tensor that has to be there; of any floating-point dtype if none is said, and of any length if
// its shape is empty.
std::vector<StoredPart> expected_of(const Model::Stored& parameter, const Places& places,
                                    const Model& model) {
  if (!parameter.quantised) return {{parameter.name, "", parameter.value.sizes().vec()}};
  const QuantisedMatrix& matrix = *parameter.quantised;
  if (stored_format(places, parameter.name)) return stored_parts(parameter.name, matrix);
  if (is_stored_by_input(model)) return {{parameter.name, "", {matrix.columns(), matrix.rows()}}};
  return {{parameter.name, "", {matrix.rows(), matrix.columns()}}};
}

std::string describe_part(std::string_view dtype, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", dtype.empty() ? "" : fmt::format("{} ", dtype),
                     fmt::join(shape, ", "));
}

// "" if it is as expected.
std::string difference(const StoredPart& expected, const SafetensorsEntry& found) {
  const bool same_dtype = expected.dtype.empty() || expected.dtype == found.dtype;
  if (same_dtype && (expected.shape.empty() || expected.shape == found.shape)) return "";
  return fmt::format(
      "{} (expected {}, found {})", expected.name, describe_part(expected.dtype, expected.shape),
      describe_part(same_dtype && expected.dtype.empty() ? "" : found.dtype, found.shape));
}

// That the files hold each matrix in the way that the model keeps it, or as plain numbers.
Status check_formats(const Places& places, const Model& model) {
  const std::optional<estimate::WeightFormat> wanted = model.options().quantised;
  const Model::Stored* plain = nullptr;
  const Model::Stored* quantised = nullptr;
  for (const Model::Stored& parameter : model.stored()) {
    const auto found = stored_format(places, parameter.name);
    if (found && (!parameter.quantised || *found != *wanted)) {
      return Error{
          Errc::invalid,
          fmt::format("tensor {}: expected {}, found quantised weights ({})", parameter.name,
                      parameter.quantised ? to_string(*wanted) : "plain numbers",
                      to_string(*found)),
          parameter.quantised || model.options().lora
              ? fmt::format("write kind = \"qlora\" and base = \"{}\" under [method]",
                            to_string(*found))
              : "quantised weights cannot be trained in full: write kind = \"qlora\" under "
                "[method]"};
    }
    if (parameter.quantised) (found ? quantised : plain) = &parameter;
  }
  if (plain == nullptr || quantised == nullptr || !places.contains(plain->name)) return Done{};
  return Error{Errc::unsupported,
               fmt::format("tensor {}: expected it quantised as {} is, found plain numbers",
                           plain->name, quantised->name),
               "quantise the model again without llm_int8_skip_modules for its layers"};
}

// fp4 has NF4's tensors but for one name.
Status check_types(const Places& places) {
  constexpr std::string_view key = ".quant_state.bitsandbytes__";
  for (const auto& [name, place] : places) {
    const std::size_t at = name.find(key);
    if (at == std::string::npos || name.substr(at + key.size()) == "nf4") continue;
    return Error{Errc::unsupported,
                 fmt::format("tensor {}: expected quant_type nf4, found {}", place.name,
                             name.substr(at + key.size())),
                 "quantise the model again with bnb_4bit_quant_type = \"nf4\""};
  }
  return Done{};
}

Status check_names_and_shapes(const Places& places, const Model& model) {
  HEADROOM_CHECK(check_types(places));
  HEADROOM_CHECK(check_formats(places, model));
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> misshaped;
  std::set<std::string> expected;
  for (const Model::Stored& parameter : model.stored()) {
    for (const StoredPart& part : expected_of(parameter, places, model)) {
      expected.insert(part.name);
      const auto place = places.find(part.name);
      if (place == places.end()) {
        missing.push_back(part.name);
        continue;
      }
      const std::string off = difference(part, place->second.entry());
      if (!off.empty()) misshaped.push_back(off);
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
    if (!parameter.quantised) {
      HEADROOM_CHECK(place.file->read(place.name, parameter.value));
    } else if (stored_format(places, parameter.name)) {
      HEADROOM_CHECK(read_quantised(places, parameter.name, *parameter.quantised));
    } else {
      HEADROOM_CHECK(quantise_stored(place, model.options().dtype, is_stored_by_input(model),
                                     *parameter.quantised));
    }
  }
  return Done{};
}

}  // namespace headroom::trainer
