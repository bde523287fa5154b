// SPDX-License-Identifier: Apache-2.0
#include "knowledge/service_knobs.h"

#include <algorithm>

#include "base/document.h"
#include "base/document_reader.h"
#include "knowledge/embedded.h"

namespace headroom::knowledge {
namespace {

ServiceKnob read_knob(TableReader& row) {
  ServiceKnob knob;
  knob.name = row.text("name");
  row.read("aliases", knob.aliases);
  knob.of = row.text("of");
  row.read("images", knob.images);
  row.read("programs", knob.programs);
  row.read_choice("role", knob.role, {"none", "workers", "threads", "batch"});
  row.read("default", knob.default_value);
  row.read("values", knob.values);
  knob.origin = read_origin(row);
  row.refuse_unknown();
  if (knob.images.empty() && knob.programs.empty())
    row.wrong("programs", "a program or an image that it belongs to");
  if (!knob.aliases.empty() && !knob.is_option()) row.wrong("aliases", "spellings of an option");
  return knob;
}

std::string_view file_name(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  return slash == std::string_view::npos ? word : word.substr(slash + 1);
}

}  // namespace

Result<ServiceKnobs> parse_service_knobs(std::string_view text) {
  HEADROOM_TRY(const Document document, parse_toml(text));
  DocumentReader reader(document, {.file = "data/service_knobs.toml"});
  TableReader root = reader.root();
  ServiceKnobs knobs;
  for (TableReader& row : root.tables("knob")) knobs.knobs.push_back(read_knob(row));
  root.refuse_unknown();
  HEADROOM_CHECK(reader.finish());
  return knobs;
}

Result<ServiceKnobs> load_service_knobs() {
  return parse_service_knobs(embedded("service_knobs"));
}

bool runs(const ServiceKnob& knob, std::string_view image,
          const std::vector<std::string>& command) {
  if (knob.is_option() && command.empty()) return false;
  const bool by_image = std::any_of(
      knob.images.begin(), knob.images.end(),
      [&](const std::string& part) { return image.find(part) != std::string_view::npos; });
  if (by_image) return true;
  return std::any_of(command.begin(), command.end(), [&](const std::string& word) {
    const std::string_view name = file_name(word);
    return std::find(knob.programs.begin(), knob.programs.end(), name) != knob.programs.end();
  });
}

}  // namespace headroom::knowledge
