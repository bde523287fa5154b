// SPDX-License-Identifier: Apache-2.0
#include "knowledge/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document_reader.h"
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

bool names_a_variant(std::string_view word) {
  return word == "instruct" || word == "chat" || word == "it" || word == "hf" || word == "base" ||
         word == "pt";
}

// What two names must share to be the same. The point tells "opt-1.3b" from "opt-13b", so that it
// is left out only where nothing matches with it.
struct Likeness {
  bool points = true;
  bool variants = true;  // Whether "-Instruct" and the like count.
};

// "Qwen2.5-3B-Instruct" → "qwen2.53binstruct", "qwen253b" with neither.
std::string plain(std::string_view name, const Likeness& likeness) {
  std::string key;
  std::string word;
  const auto end_word = [&] {
    if (likeness.variants || !names_a_variant(word)) key += word;
    word.clear();
  };
  for (const char c : to_lower(without_organisation(name))) {
    if (is_letter_or_digit(c) || (c == '.' && likeness.points)) {
      word += c;
    } else if (c != '.') {
      end_word();
    }
  }
  end_word();
  return key;
}

// The one model that is like `name`; none if there are several.
const KnownModel* find_like(std::string_view name, const std::vector<KnownModel>& models,
                            const Likeness& likeness) {
  const std::string wanted = plain(name, likeness);
  const KnownModel* found = nullptr;
  for (const KnownModel& model : models) {
    if (plain(model.name, likeness) != wanted) continue;
    if (found != nullptr) return nullptr;
    found = &model;
  }
  return found;
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
KnownModel read_row(TableReader& row, const Group& group) {
  KnownModel model;
  model.origin = group.origin;
  model.config = group.shared;
  model.name = row.text("name");
  model.parameters = row.number("parameters");
  const Json& values = row.any_array("values");
  const Json& own = row.any_table("config");
  std::vector<std::string> nulls;
  row.read("nulls", nulls);
  row.refuse_unknown();
  if (values.size() != group.columns.size()) {
    row.wrong("values", "one for each column");
    return model;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    model.config[pointer_to(group.columns[i])] = values[i];
  }
  model.config.update(own);
  for (const std::string& key : nulls) model.config[key] = nullptr;
  return model;
}

void read_group(TableReader& table, std::vector<KnownModel>& models) {
  Group group;
  group.origin = read_origin(table);
  group.shared = table.any_table("shared");
  table.read("columns", group.columns);
  for (TableReader& row : table.rows("models")) models.push_back(read_row(row, group));
  table.refuse_unknown();
}

// At most three, the nearest first; none that has nothing to do with it. A name that begins or goes
// on with the whole word ("mistral") is nearer than one that is only written alike.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<KnownModel>& models) {
  const std::string wanted = plain(name, {.variants = false});
  constexpr std::size_t word_min = 3;
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const KnownModel& model : models) {
    const std::string known = plain(model.name, {.variants = false});
    const std::size_t distance = edit_distance(wanted, known);
    const std::size_t at = known.find(wanted);
    if (wanted.size() >= word_min && at != std::string::npos) {
      ranked.emplace_back(at == 0 ? 0 : 1, model.name);
    } else if (distance <= std::max<std::size_t>(2, wanted.size() * 3 / 5)) {
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
  DocumentReader reader(document, {.file = "data/models.toml"});
  std::vector<KnownModel> models;
  for (TableReader& group : reader.root().rows("group")) read_group(group, models);
  HEADROOM_CHECK(reader.finish());
  return models;
}

Result<KnownModel> find_model(std::string_view name) {
  HEADROOM_TRY(const std::vector<KnownModel> models, load_models());
  for (const bool variants : {true, false}) {
    for (const bool points : {true, false}) {
      const KnownModel* found = find_like(name, models, {.points = points, .variants = variants});
      if (found == nullptr) continue;
      KnownModel model = *found;
      model.stands_in = !variants;
      return model;
    }
  }
  std::string shown =
      Json(std::string(name)).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (shown.size() > 80) shown = shown.substr(0, 80) + "…";
  const auto meant = nearest_names(name.substr(0, 80), models);
  return Error{
      Errc::not_found,
      fmt::format("expected one of {} models known by name, found {}{}", models.size(), shown,
                  meant.empty() ? "" : "; the nearest: " + join(meant, ", ")),
      "give its folder instead: config = \"the folder with the model's config.json\" in [model]"}
      .at("model.name");
}

}  // namespace headroom::knowledge
