// SPDX-License-Identifier: Apache-2.0
#include "knowledge/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

std::string_view without_organisation(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// "Qwen2.5-3B-Instruct" → "qwen253binstruct"; without its words for a tuned variant → "qwen253b".
std::string plain(std::string_view name, bool keep_variant) {
  std::string key;
  std::string word;
  const auto end_word = [&] {
    const bool variant = word == "instruct" || word == "chat" || word == "it" || word == "hf" ||
                         word == "base" || word == "pt";
    if (keep_variant || !variant) key += word;
    word.clear();
  };
  for (const char c : to_lower(without_organisation(name))) {
    if (is_letter_or_digit(c)) {
      word += c;
    } else if (c != '.') {
      end_word();
    }
  }
  end_word();
  return key;
}

// What the rows of a group have in common.
struct Group {
  Json shared;  // Keys with one value for all.
  std::vector<std::string> columns;
  Origin origin;
};

// "text_config.hidden_size" → /text_config/hidden_size
Json::json_pointer pointer_to(std::string column) {
  std::replace(column.begin(), column.end(), '.', '/');
  return Json::json_pointer("/" + column);
}

// A row's keys: those that all share, its columns, its own, and what is null, for which TOML has no
// word.
Result<KnownModel> parse_row(TableReader& row, const Group& group) {
  KnownModel model;
  model.origin = group.origin;
  model.config = group.shared;
  HEADROOM_TRY(model.name, row.text("name"));
  HEADROOM_TRY(model.parameters, row.count("parameters"));
  HEADROOM_TRY(const Json values, row.list_or_none("values"));
  HEADROOM_TRY(const Json own, row.table_or_none("config"));
  HEADROOM_TRY(const auto nulls, row.texts_or_none("nulls"));
  HEADROOM_CHECK(row.finish());
  if (values.size() != group.columns.size()) return row.wrong("values", "one for each column");
  for (std::size_t i = 0; i < values.size(); ++i) {
    model.config[pointer_to(group.columns[i])] = values[i];
  }
  model.config.update(own);
  for (const std::string& key : nulls) model.config[key] = nullptr;
  return model;
}

Status parse_group(const Document& document, const std::string& place,
                   std::vector<KnownModel>& models) {
  TableReader reader(document, place);
  Group group;
  HEADROOM_TRY(group.origin, parse_origin(reader));
  HEADROOM_TRY(group.shared, reader.table_or_none("shared"));
  HEADROOM_TRY(group.columns, reader.texts_or_none("columns"));
  const auto places = reader.rows("models");
  HEADROOM_CHECK(reader.finish());
  for (const std::string& at : places) {
    TableReader row(document, at);
    HEADROOM_TRY(KnownModel model, parse_row(row, group));
    models.push_back(std::move(model));
  }
  return Done{};
}

// At most three, the nearest first; none that has nothing to do with it.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<KnownModel>& models) {
  const std::string wanted = plain(name, /*keep_variant=*/false);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const KnownModel& model : models) {
    const std::size_t distance = edit_distance(wanted, plain(model.name, false));
    if (distance <= std::max<std::size_t>(2, wanted.size() / 2)) {
      ranked.emplace_back(distance, model.name);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [distance, known] : ranked) {
    if (names.size() < 3) names.push_back("\"" + known + "\"");
  }
  return names;
}

}  // namespace

Result<std::vector<KnownModel>> load_models() {
  HEADROOM_TRY(const Document document, parse_toml(embedded("models")));
  std::vector<KnownModel> models;
  for (const std::string& place : TableReader(document, "").rows("group")) {
    HEADROOM_CHECK(parse_group(document, place, models));
  }
  return models;
}

Result<KnownModel> find_model(std::string_view name) {
  HEADROOM_TRY(std::vector<KnownModel> models, load_models());
  for (const bool keep_variant : {true, false}) {
    for (KnownModel& model : models) {
      if (plain(model.name, keep_variant) != plain(name, keep_variant)) continue;
      model.stands_in = !keep_variant;
      return std::move(model);
    }
  }
  const std::string shown(name.substr(0, 80));
  const auto meant = nearest_names(name.substr(0, 80), models);
  return Error{
      Errc::not_found,
      fmt::format("model.name: expected one of {} models known by name, found \"{}\"{}",
                  models.size(), shown, meant.empty() ? "" : "; the nearest: " + join(meant, ", ")),
      "give its folder instead: config = \"the folder with the model's config.json\" in [model]"};
}

}  // namespace headroom::knowledge
