// SPDX-License-Identifier: Apache-2.0
#include "knowledge/help_topics.h"

#include "base/document.h"
#include "base/document_reader.h"
#include "base/text.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {

Result<std::vector<HelpTopic>> parse_help_topics(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/help.toml"});
  TableReader root = reader.root();
  std::vector<HelpTopic> topics;
  for (TableReader& row : root.rows("topic")) {
    HelpTopic topic;
    topic.id = row.text("id");
    topic.about = row.text("about");
    topic.text = std::string(trim(row.text("text")));
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
