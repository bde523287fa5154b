// SPDX-License-Identifier: Apache-2.0
#include "deploy/service_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "deploy/compose_edit.h"
#include "deploy/unit_text.h"
#include "yaml/aliases.h"
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
  DescribedService service;
  service.name = stem_of(file);
  service.settings = std::move(settings);
  service.misplaced = find_misplaced(unit);
  if (const Assignment* image = unit.last("Container", "Image")) service.image_line = image->line;
  for (const Assignment* one : unit.all("Container", "EnvironmentFile")) {
    for (const UnitWord& word : one->words) {
      Elsewhere place{"EnvironmentFile", word.text};
      place.optional = place.file.starts_with('-');  // "If it is there" (systemd.exec(5)).
      if (place.optional) place.file.erase(0, 1);
      if (place.file.find('%') != std::string::npos) place.why = "podman fills its name in";
      add_elsewhere({place}, service.elsewhere);
    }
  }
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

const DescribedService* find_service(const std::vector<DescribedService>& services,
                                     const std::string& name) {
  const auto found =
      std::find_if(services.begin(), services.end(),
                   [&name](const DescribedService& one) { return one.name == name; });
  return found == services.end() ? nullptr : &*found;
}

// Those that build on another one of the same file; a circle is left as it is.
void build_within(std::vector<DescribedService>& services) {
  for (std::size_t round = 0; round < services.size(); ++round) {
    for (DescribedService& service : services) {
      for (std::size_t i = 0; i < service.elsewhere.size(); ++i) {
        const Elsewhere& one = service.elsewhere[i];
        if (!one.is_base() || !one.file.empty() || one.service == service.name) continue;
        const DescribedService* base = find_service(services, one.service);
        if (base == nullptr) continue;
        build_on(service, i, DescribedService(*base));
        break;
      }
    }
  }
}

void say_why_unbuilt(std::vector<DescribedService>& services) {
  for (DescribedService& service : services) {
    for (Elsewhere& one : service.elsewhere) {
      if (!one.is_base() || !one.file.empty() || !one.why.empty()) continue;
      const bool known = find_service(services, one.service) != nullptr;
      one.why = known ? "it builds on itself" : "there is no such service";
      one.refused = true;
    }
  }
}

Result<std::vector<DescribedService>> read_services(const std::string& file,
                                                    std::string_view text) {
  auto tree = parse_yaml(text);
  auto root = tree ? fill_in_aliases(*std::move(tree)) : std::move(tree);
  if (!root) return std::move(root).error().in(file);
  std::vector<DescribedService> found;
  const YamlNode* services = root->find("services");
  if (services == nullptr) return found;
  constexpr std::size_t most = 256;  // Each is read by itself, and a hostile file has many.
  if (services->entries.size() > most) {
    return Error{Errc::invalid,
                 fmt::format("{}: expected at most {} services, found {}", file, most,
                             services->entries.size()),
                 "put the services that use a GPU into a file of their own"};
  }
  for (const auto& [name, service] : services->entries) {
    // One without a word is there all the same: others may extend it.
    if (service.kind != Kind::map && !service.is_null()) continue;
    const YamlNode* image = service.find("image");
    DescribedService one;
    one.name = name.value;
    one.kind = FileKind::compose;
    one.settings = read_compose_service(service);
    one.image_line = image == nullptr ? 0 : image->line;
    one.health = health_of(service);
    one.elsewhere = find_elsewhere(service);
    const YamlNode* devices = service.find("devices");
    one.devices_are_whole = devices != nullptr && !devices->tag.empty();
    const YamlNode* privileged = service.find("privileged");
    // It is given every device of the host (Compose Specification).
    if (privileged != nullptr && privileged->value == "true") {
      one.settings.devices.emplace_back("/dev");
    }
    found.push_back(std::move(one));
  }
  if (!found.empty()) add_elsewhere(find_included(*root), found.front().elsewhere);
  build_within(found);
  say_why_unbuilt(found);
  return found;
}

}  // namespace

Result<std::vector<DescribedService>> read_service_file(const std::string& file,
                                                        std::string_view text) {
  if (is_quadlet(text)) return read_quadlet(file, text);
  if (is_compose(text)) return read_services(file, text);
  return std::vector<DescribedService>{};
}

void build_on(DescribedService& service, std::size_t entry, const DescribedService& base) {
  const Elsewhere place = service.elsewhere[entry];
  service.elsewhere.erase(service.elsewhere.begin() + static_cast<std::ptrdiff_t>(entry));
  Settings& own = service.settings;
  const Settings& more = base.settings;
  if (!own.image) own.image = more.image;  // Its line stays 0: it is in another place.
  for (const auto& [name, value] : more.environment) {
    if (own.environment.emplace(name, value).second) {
      service.inherited.push_back(
          {name, value, {place.file, 0, ""}, facts::Scope::given, facts::Form::compose});
    }
  }
  if (own.devices.empty() && !more.devices.empty() && !service.devices_are_whole) {
    service.base = place;
  }
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    for (const std::string& word : from) {
      if (std::find(to.begin(), to.end(), word) == to.end()) to.push_back(word);
    }
  };
  if (!service.devices_are_whole) add(own.devices, more.devices);
  add(own.groups, more.groups);
  if (!own.memory) own.memory = more.memory;
  if (own.command.empty()) own.command = more.command;
  if (!service.health) service.health = base.health;
  std::vector<Elsewhere> inner = base.elsewhere;
  for (Elsewhere& one : inner) {  // A base of the base is in the base's own file.
    if (one.is_base() && one.file.empty()) one.file = place.file;
  }
  add_elsewhere(service.elsewhere, inner);  // Later files of variables win, and they are its own.
  service.elsewhere = std::move(inner);
}

void take_variables(DescribedService& service, std::size_t entry,
                    const std::vector<facts::Setting>& variables) {
  service.elsewhere.erase(service.elsewhere.begin() + static_cast<std::ptrdiff_t>(entry));
  std::vector<facts::Setting> taken;
  for (auto one = variables.rbegin(); one != variables.rend(); ++one) {
    if (service.settings.environment.emplace(one->name, one->value).second) taken.push_back(*one);
  }
  service.inherited.insert(service.inherited.end(), taken.rbegin(), taken.rend());
}

}  // namespace headroom::deploy
