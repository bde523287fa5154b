// SPDX-License-Identifier: Apache-2.0
#include "knowledge/pipelines.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/document_reader.h"
#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

// "stabilityai/sdxl-turbo" → "sdxlturbo"
std::string plain(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name = name.substr(slash + 1);
  std::string key;
  for (const char c : to_lower(name))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) key += c;
  return key;
}

std::map<std::string, KnownPart> read_components(const Json& document, DocumentReader& reader) {
  std::map<std::string, KnownPart> components;
  TableReader root = reader.root();
  TableReader all = root.table("component");
  for (const auto& [name, value] : document["component"].items()) {
    TableReader table = all.table(name);
    KnownPart part;
    part.parameters = table.number("parameters");
    part.config = table.any_table("config");
    table.refuse_unknown();
    components.emplace(name, std::move(part));
  }
  return components;
}

KnownPipeline read_pipeline(TableReader& table, const std::map<std::string, KnownPart>& known) {
  KnownPipeline pipeline;
  pipeline.name = table.text("name");
  table.read("also", pipeline.also);
  pipeline.kind = table.text("class");
  pipeline.origin = read_origin(table);
  const Json& components = table.any_table("components");
  table.refuse_unknown();
  for (const auto& [component, name] : components.items()) {
    const auto found = name.is_string() ? known.find(name.get<std::string>()) : known.end();
    if (found == known.end()) {
      table.wrong("components", "names of tables [component.NAME]");
      continue;
    }
    pipeline.parts.push_back(found->second);
    pipeline.parts.back().component = component;
  }
  return pipeline;
}

const KnownPipeline* find_in(const std::vector<KnownPipeline>& pipelines, std::string_view name) {
  const std::string wanted = plain(name);
  for (const KnownPipeline& pipeline : pipelines) {
    if (plain(pipeline.name) == wanted) return &pipeline;
    for (const std::string& other : pipeline.also)
      if (plain(other) == wanted) return &pipeline;
  }
  return nullptr;
}

}  // namespace

Json KnownPipeline::components() const {
  Json all = {{"_class_name", kind}};
  for (const KnownPart& part : parts) all[part.component] = part.config;
  return all;
}

Result<std::vector<KnownPipeline>> load_pipelines() {
  HEADROOM_TRY(const Document document, parse_toml(embedded("pipelines")));
  DocumentReader reader(document, {.file = "data/pipelines.toml"});
  const auto components = read_components(document.value, reader);
  std::vector<KnownPipeline> pipelines;
  TableReader root = reader.root();
  for (TableReader& table : root.rows("pipeline"))
    pipelines.push_back(read_pipeline(table, components));
  HEADROOM_CHECK(reader.finish());
  return pipelines;
}

Result<KnownPipeline> find_pipeline(std::string_view name) {
  HEADROOM_TRY(std::vector<KnownPipeline> pipelines, load_pipelines());
  if (const KnownPipeline* found = find_in(pipelines, name)) return *found;
  std::vector<std::string> names;
  for (const KnownPipeline& pipeline : pipelines)
    names.push_back(pipeline.also.empty() ? pipeline.name : pipeline.also.front());
  const std::string shown =
      Json(std::string(name.substr(0, 80)))
          .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return Error{Errc::not_found,
               fmt::format("expected one of the pipelines known by name ({}), found {}",
                           join(names, ", "), shown),
               "give its folder instead: config = \"the folder with its model_index.json\" in "
               "[model]"}
      .at("model.name");
}

bool is_pipeline(std::string_view name) {
  const auto pipelines = load_pipelines();
  return pipelines && find_in(*pipelines, name) != nullptr;
}

}  // namespace headroom::knowledge
