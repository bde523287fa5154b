// SPDX-License-Identifier: Apache-2.0
#include "knowledge/help_topics.h"

#include "base/document.h"
#include "base/document_reader.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

// Blanks stay: a text may begin with lines that are kept as they are.
std::string without_line_ends(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  text.erase(0, text.find_first_not_of('\n'));
  return text;
}

}  // namespace

Result<std::vector<HelpTopic>> parse_help_topics(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/help.toml"});
  TableReader root = reader.root();
  std::vector<HelpTopic> topics;
  for (TableReader& row : root.rows("topic")) {
    HelpTopic topic;
    topic.id = row.text("id");
    row.read("also", topic.also);
    topic.about = row.text("about");
    topic.text = without_line_ends(row.text("text"));
    row.refuse_unknown();
    topics.push_back(std::move(topic));
  }
  root.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return topics;
}

Result<std::vector<HelpTopic>> load_help_topics() {
  return parse_help_topics(embedded("help"));
}

}  // namespace headroom::knowledge
