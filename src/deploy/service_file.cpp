// SPDX-License-Identifier: Apache-2.0
#include "deploy/service_file.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "deploy/unit_text.h"
#include "yaml/tree.h"

namespace headroom::deploy {
namespace {

using Kind = YamlNode::Kind;

// "/a/b/immich-ml.container" → "immich-ml".
std::string stem_of(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return name == "-" ? "" : name.substr(0, name.rfind('.'));
}

bool is_quadlet(std::string_view text) {
  return UnitText(text).end_of("Container") != std::string_view::npos;
}

// Whether a line says so; a shell script or a .env is no YAML that is worth a complaint.
bool is_compose(std::string_view text) {
  const auto lines = split_lines(text);
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    return line == "services:" || line.starts_with("services: ");
  });
}

std::vector<std::string> find_misplaced(const UnitText& unit) {
  constexpr std::array of_service = {"MemoryMax", "MemoryHigh", "MemorySwapMax",  "CPUQuota",
                                     "Restart",   "RestartSec", "TimeoutStartSec"};
  std::vector<std::string> found;
  for (const Assignment& one : unit.assignments()) {
    const bool misplaced =
        one.section == "Container" &&
        std::find(of_service.begin(), of_service.end(), one.key) != of_service.end();
    if (misplaced) found.push_back(one.key);
  }
  return found;
}

Result<std::vector<DescribedService>> read_quadlet(const std::string& file, std::string_view text) {
  HEADROOM_TRY(Settings settings, read_settings({FileKind::quadlet, file, "", {}}, text));
  const UnitText unit(text);
  DescribedService service{stem_of(file), FileKind::quadlet, std::move(settings), std::nullopt,
                           find_misplaced(unit)};
  const Assignment* health = unit.last("Container", "HealthCmd");
  if (health != nullptr && !health->is_reset()) {
    const std::string command(
        text.substr(health->value_begin, health->value_end - health->value_begin));
    if (command != "none") service.health = command;
  }
  return std::vector<DescribedService>{std::move(service)};
}

// The Compose Specification, "healthcheck": a string, or a list whose first word says how it runs.
std::optional<std::string> health_of(const YamlNode& service) {
  const YamlNode* check = service.find("healthcheck");
  if (check == nullptr) return std::nullopt;
  const YamlNode* off = check->find("disable");
  const YamlNode* test = check->find("test");
  if (test == nullptr || (off != nullptr && off->value == "true")) return std::nullopt;
  if (test->kind == Kind::scalar) return test->value;
  std::vector<std::string> words;
  for (const YamlNode& item : test->items) words.push_back(item.value);
  if (words.empty() || words.front() == "NONE") return std::nullopt;
  if (words.front().starts_with("CMD")) words.erase(words.begin());
  return join(words, " ");
}

Result<std::vector<DescribedService>> read_services(const std::string& file,
                                                    std::string_view text) {
  auto root = parse_yaml(text);
  if (!root) return std::move(root).error().in(file);
  std::vector<DescribedService> found;
  const YamlNode* services = root->find("services");
  if (services == nullptr) return found;
  for (const auto& [name, service] : services->entries) {
    if (service.kind != Kind::map || service.entries.empty()) continue;
    HEADROOM_TRY(Settings settings, read_settings({FileKind::compose, file, name.value, {}}, text));
    found.push_back({name.value, FileKind::compose, std::move(settings), health_of(service), {}});
  }
  return found;
}

}  // namespace

Result<std::vector<DescribedService>> read_service_file(const std::string& file,
                                                        std::string_view text) {
  if (is_quadlet(text)) return read_quadlet(file, text);
  if (is_compose(text)) return read_services(file, text);
  return std::vector<DescribedService>{};
}

}  // namespace headroom::deploy
