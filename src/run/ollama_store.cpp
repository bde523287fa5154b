// SPDX-License-Identifier: Apache-2.0
#include "run/ollama_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/document_reader.h"
#include "base/text.h"
#include "machine/user_files.h"

namespace headroom::run {
namespace {

constexpr std::string_view layer_type = "application/vnd.ollama.image.";
// ollama's own manifests have a dozen layers and a few parameters.
constexpr std::size_t longest_text = std::size_t{1} << 20U;
constexpr std::size_t most_layers = 64;
constexpr const char* pull_again = "ollama pull the model again";

bool is_plain(std::string_view part) {
  return !part.empty() && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
         });
}

// "registry.ollama.ai/library/NAME/TAG", below manifests.
Result<std::string> manifest_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t colon = name.find(':', slash == std::string::npos ? 0 : slash);
  const std::string tag = colon == std::string::npos ? "latest" : name.substr(colon + 1);
  std::vector<std::string> parts;
  for (const std::string_view part : split(std::string_view(name).substr(0, colon), '/'))
    parts.emplace_back(part);
  if (parts.size() < 2) parts.insert(parts.begin(), "library");
  if (parts.size() < 3) parts.insert(parts.begin(), "registry.ollama.ai");
  parts.push_back(tag);
  constexpr std::size_t levels = 4;
  const bool plain = parts.size() == levels && std::all_of(parts.begin(), parts.end(), is_plain);
  if (!plain)
    return Error{Errc::invalid,
                 fmt::format("plan: expected a model's name as in llama3.2:3b, found \"{}\"",
                             name.substr(0, 80)),
                 "ollama list shows the names"};
  return join(parts, "/");
}

Result<std::string> blob_of(const std::string& folder, const Json& layer) {
  const auto digest = layer.find("digest");
  const std::string text =
      digest != layer.end() && digest->is_string() ? digest->get<std::string>() : "";
  constexpr std::string_view prefix = "sha256:";
  const std::string hex = text.starts_with(prefix) ? text.substr(prefix.size()) : "";
  if (hex.size() != 64 || hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return Error{
        Errc::invalid,
        fmt::format("expected a layer's digest as sha256:…, found \"{}\"", text.substr(0, 80)),
        pull_again};
  return folder + "/blobs/sha256-" + hex;
}

// A file of the store. Fails as reading and parse_json do, with what helps here.
Result<Json> read_stored(const std::string& path) {
  auto text = machine::read_file(path, longest_text);
  if (!text) {
    const bool denied = text.error().code == Errc::no_permission;
    return Error{text.error().code, text.error().message,
                 denied ? "run it as a user who may read ollama's store" : pull_again};
  }
  auto json = parse_json(*text);
  if (json) return json;
  return Error{json.error().code, fmt::format("{}: {}", path, json.error().message), pull_again};
}

Result<Done> add_parameters(const std::string& path, StoredModel& model) {
  HEADROOM_TRY(const Json parameters, read_stored(path));
  if (!parameters.is_object()) return Done{};
  for (const auto& [key, value] : parameters.items()) {
    // 8192.0 is 8192, as Go decodes both.
    const auto whole = whole_number(value);
    if (whole)
      model.parameters.emplace_back(key, std::to_string(*whole));
    else if (value.is_number_integer() || value.is_boolean())
      model.parameters.emplace_back(key, value.dump());
  }
  return Done{};
}

Result<StoredModel> read_manifest(const std::string& folder, const Json& manifest) {
  StoredModel model;
  const auto layers = manifest.is_object() ? manifest.find("layers") : manifest.end();
  if (layers == manifest.end() || !layers->is_array())
    return Error{Errc::invalid, "expected a manifest with layers, found none", pull_again};
  if (layers->size() > most_layers)
    return Error{Errc::invalid,
                 fmt::format("expected a manifest with at most {} layers, found {}", most_layers,
                             layers->size()),
                 pull_again};
  for (const Json& layer : *layers) {
    const auto type = layer.is_object() ? layer.find("mediaType") : layer.end();
    if (type == layer.end() || !type->is_string()) continue;
    const std::string kind = type->get<std::string>();
    if (!kind.starts_with(layer_type)) continue;
    const std::string what = kind.substr(layer_type.size());
    if (what == "projector" || what == "adapter" || what == "draft")
      model.notes.push_back(fmt::format("Not counted: the model's {}.", what));
    if (what != "model" && what != "params") continue;
    HEADROOM_TRY(const std::string blob, blob_of(folder, layer));
    if (what == "model") model.weights = blob;
    if (what == "params") HEADROOM_CHECK(add_parameters(blob, model));
  }
  if (model.weights.empty())
    return Error{Errc::unsupported, "expected a manifest with a GGUF model, found none",
                 "models of other formats, and those that run in the cloud, are not planned"};
  return model;
}

}  // namespace

Result<StoredModel> find_ollama_model(const std::string& name,
                                      const std::vector<std::string>& folders) {
  HEADROOM_TRY(const std::string manifest, manifest_of(name));
  for (const std::string& folder : folders) {
    const std::string path = folder + "/manifests/" + manifest;
    const auto json = read_stored(path);
    if (!json && json.error().code == Errc::not_found) continue;
    if (!json) return json.error();
    auto model = read_manifest(folder, *json);
    if (!model) return std::move(model).error().in(path);
    return model;
  }
  return Error{Errc::not_found,
               fmt::format("plan: expected the model {} in ollama's store, found none in {}", name,
                           folders.empty() ? "no folder" : join(folders, ", ")),
               fmt::format("ollama pull {}, or name the store: OLLAMA_MODELS=FOLDER ollama run {}",
                           name, name)};
}

}  // namespace headroom::run
