// SPDX-License-Identifier: Apache-2.0
#include "tokens/post_processor.h"

#include <fmt/format.h>

#include "base/document.h"
#include "tokens/json_part.h"
#include "tokens/vocabulary.h"

namespace headroom::tokens {
namespace {

// {"<s>": {"ids": [1], …}, …}: the ids that `name` stands for.
std::vector<Id> read_special(TableReader& template_table, const std::string& name) {
  std::vector<Id> ids;
  TableReader all = template_table.table("special_tokens");
  TableReader one = all.table(name);
  const Json& list = one.any_array("ids");
  for (const Json& value : list) {
    const auto id = whole_number(value);
    if (!id || *id >= Vocabulary::most_ids) {
      one.wrong("ids", "a list of token ids");
      break;
    }
    ids.push_back(static_cast<Id>(*id));
  }
  return ids;
}

void read_template(TableReader& table, Surroundings& around) {
  bool before = true;
  for (TableReader& part : table.tables("single")) {
    if (part.has("Sequence")) {
      if (!before) part.wrong("Sequence", "one text in the template of a single text");
      before = false;
      continue;
    }
    TableReader special = part.table("SpecialToken");
    const std::vector<Id> ids = read_special(table, special.text("id"));
    std::vector<Id>& side = before ? around.before : around.behind;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (before) table.wrong("single", "a template with a Sequence");
}

void read_one(TableReader& table, int depth, Surroundings& around) {
  const std::string type = table.text("type");
  if (type == "ByteLevel") return;  // It only corrects offsets.
  if (type == "TemplateProcessing") {
    Surroundings inner;
    read_template(table, inner);
    around.before.insert(around.before.begin(), inner.before.begin(), inner.before.end());
    around.behind.insert(around.behind.end(), inner.behind.begin(), inner.behind.end());
  } else if (type == "Sequence" && depth < deepest_sequence) {
    for (TableReader& part : table.tables("processors")) read_one(part, depth + 1, around);
  } else if (type == "Sequence") {
    table.wrong("processors",
                fmt::format("at most {} sequences within each other", deepest_sequence));
  } else {
    refuse_type(table, "post_processor", {"TemplateProcessing", "ByteLevel", "Sequence"});
  }
}

}  // namespace

Surroundings read_post_processor(TableReader& table, std::string_view key) {
  Surroundings around;
  if (!table.has(key)) return around;
  TableReader inner = table.table(key);
  read_one(inner, 0, around);
  return around;
}

}  // namespace headroom::tokens
