// SPDX-License-Identifier: Apache-2.0
// Which key of a unit or a quadlet holds which setting: systemd.exec(5),
// systemd.resource-control(5), podman-systemd.unit(5).
#include "deploy/unit_edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "deploy/unit_text.h"

namespace headroom::deploy {
namespace {

constexpr std::string_view service = "Service";
constexpr std::string_view container = "Container";

// GroupAdd= came with Podman 5.1 or 5.2 (containers/podman: pull request 22601).
bool has_group_add(const std::string& podman) {
  const auto parts = split(podman, '.');
  const auto major = parse_u64(parts.empty() ? "" : parts[0]);
  const auto minor = parse_u64(parts.size() < 2 ? "" : parts[1]);
  return major && (*major > 5 || (*major == 5 && minor && *minor >= 2));
}

// A folder is no device to systemd: the nodes in it are those of a driver.
std::string device_of_unit(const std::string& device) {
  const std::string host = device.substr(0, device.find(':'));
  return (host == "/dev/dri" ? "char-drm" : host) + " rw";
}

Error unsupported(const EditTarget& target, const Assignment* at, const std::string& what,
                  const std::string& next) {
  const std::string line = at == nullptr ? "" : fmt::format("line {}: ", at->line);
  return {Errc::unsupported, fmt::format("{}: {}{}", target.file, line, what), next};
}

// One edit after the other: each reads the text anew, because the one before moved it.
class Editor {
 public:
  explicit Editor(std::string text)
      : text_(std::move(text)), unit_(text_), crlf_(text_.find("\r\n") != std::string::npos) {}

  const UnitText& unit() const { return unit_; }
  std::string take() { return std::move(text_); }

  void replace(std::size_t begin, std::size_t end, std::string_view with) {
    text_.replace(begin, end - begin, with);
    unit_ = UnitText(text_);
  }

  // Behind the last line of this key, else at the end of the section, which is added if need be.
  void add_line(std::string_view section, std::string_view key, std::string_view value) {
    const Assignment* last = unit_.last(section, key);
    std::size_t at = last != nullptr ? last->end : unit_.end_of(section);
    std::string line;
    if (at == std::string::npos) {
      at = text_.size();
      line = fmt::format("{}[{}]{}", text_.empty() ? "" : line_end(), section, line_end());
    }
    if (at > 0 && text_[at - 1] != '\n') line = line_end() + line;
    line += fmt::format("{}={}{}", key, value, line_end());
    replace(at, at, line);
  }

  void set_value(std::string_view section, std::string_view key, std::string_view value) {
    const Assignment* last = unit_.last(section, key);
    if (last == nullptr) return add_line(section, key, value);
    replace(last->value_begin, last->value_end, value);
  }

  void set_variable(std::string_view section, const std::string& name, const std::string& value,
                    Dollar dollar) {
    const std::string word = unit_word(name + "=" + value, dollar);
    const UnitWord* found = nullptr;
    for (const Assignment* one : unit_.all(section, "Environment")) {
      for (const UnitWord& candidate : one->words) {
        if (candidate.text.starts_with(name + "=")) found = &candidate;
      }
    }
    if (found == nullptr) return add_line(section, "Environment", word);
    replace(found->begin, found->end, word);
  }

 private:
  std::string line_end() const { return crlf_ ? "\r\n" : "\n"; }

  std::string text_;
  UnitText unit_;
  bool crlf_ = false;
};

std::string command_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(unit_word(word, Dollar::expands));
  return join(words, " ");
}

bool contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// ---- units ----

// A unit that hides all devices would not show the new ones either.
Status check_devices(const EditTarget& target, const UnitText& unit, const TypedSet& set) {
  const Assignment* hides = unit.last(service, "PrivateDevices");
  if (set.devices.empty() || hides == nullptr || hides->words.empty()) return Done{};
  const std::string says = to_lower(hides->words[0].text);
  if (says != "yes" && says != "true" && says != "on" && says != "1") return Done{};
  return unsupported(target, hides, "PrivateDevices= hides every device from the service",
                     "remove the line, with a [[change]] of the whole file");
}

Status edit_service(const EditTarget& target, Editor& editor, const Settings& now,
                    const TypedSet& set) {
  if (set.image) {
    return unsupported(target, nullptr, "a systemd unit has no image", "remove image from set");
  }
  for (const auto& [name, value] : set.environment) {
    editor.set_variable(service, name, value, Dollar::plain);
  }
  for (const std::string& device : set.devices) {
    if (!contains(now.devices, device))
      editor.add_line(service, "DeviceAllow", device_of_unit(device));
  }
  for (const std::string& group : set.groups) {
    if (!contains(now.groups, group))
      editor.add_line(service, "SupplementaryGroups", unit_word(group, Dollar::plain));
  }
  if (set.memory) editor.set_value(service, "MemoryMax", unit_size(*set.memory));
  if (!set.command) return Done{};
  const auto starts = editor.unit().all(service, "ExecStart");
  if (starts.size() > 1) {
    return unsupported(target, starts.back(), "it starts several commands",
                       "replace the whole file");
  }
  const bool is_drop_in = target.file.ends_with(".conf");
  if (starts.empty() && is_drop_in) editor.add_line(service, "ExecStart", "");
  editor.set_value(service, "ExecStart", command_line(*set.command));
  return Done{};
}

// ---- quadlets ----

// "--memory 8g", "--memory=8g" or "-m 8g" of PodmanArgs=: the word with the size.
const UnitWord* memory_word(const UnitText& unit) {
  const UnitWord* found = nullptr;
  for (const Assignment* one : unit.all(container, "PodmanArgs")) {
    for (std::size_t i = 0; i < one->words.size(); ++i) {
      const std::string& text = one->words[i].text;
      if (text.starts_with("--memory=")) found = &one->words[i];
      const bool apart = text == "--memory" || text == "-m";
      if (apart && i + 1 < one->words.size()) found = &one->words[i + 1];
    }
  }
  return found;
}

void edit_container_memory(Editor& editor, Bytes memory) {
  const std::string size = unit_size(memory);
  if (const UnitWord* word = memory_word(editor.unit())) {
    const bool joined = word->text.starts_with("--memory=");
    editor.replace(word->begin, word->end, (joined ? "--memory=" : "") + to_lower(size));
  } else if (editor.unit().last(container, "Memory") != nullptr) {
    editor.set_value(container, "Memory", size);
  } else {
    // The container runs in the control group of its service, with every version of Podman.
    editor.set_value(service, "MemoryMax", size);
  }
}

void edit_container(const EditTarget& target, Editor& editor, const Settings& now,
                    const TypedSet& set) {
  if (set.image) editor.set_value(container, "Image", unit_word(*set.image, Dollar::expands));
  for (const auto& [name, value] : set.environment) {
    editor.set_variable(container, name, value, Dollar::expands);
  }
  for (const std::string& device : set.devices) {
    if (!contains(now.devices, device))
      editor.add_line(container, "AddDevice", unit_word(device, Dollar::expands));
  }
  const bool by_key =
      has_group_add(target.podman_version) || editor.unit().last(container, "GroupAdd") != nullptr;
  for (const std::string& group : set.groups) {
    if (contains(now.groups, group)) continue;
    if (by_key) {
      editor.add_line(container, "GroupAdd", unit_word(group, Dollar::expands));
    } else {
      editor.add_line(container, "PodmanArgs", unit_word("--group-add=" + group, Dollar::expands));
    }
  }
  if (set.memory) edit_container_memory(editor, *set.memory);
  if (set.command) editor.set_value(container, "Exec", command_line(*set.command));
}

// ---- reading ----

std::optional<Bytes> size_of(const UnitWord& word) {
  std::string text = word.text;
  if (text.starts_with("--memory=")) text = text.substr(9);
  const auto bytes = parse_bytes(text);
  return bytes ? std::optional<Bytes>(*bytes) : std::nullopt;  // "infinity", "50%": no figure.
}

std::vector<std::string> words_of(const UnitText& unit, std::string_view section,
                                  std::string_view key, Dollar dollar) {
  std::vector<std::string> words;
  for (const Assignment* one : unit.all(section, key)) {
    for (const UnitWord& word : one->words) words.push_back(undo_expansions(word.text, dollar));
  }
  return words;
}

void read_variables(const UnitText& unit, std::string_view section, Dollar dollar,
                    Settings& settings) {
  for (const std::string& word : words_of(unit, section, "Environment", dollar)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    settings.environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

void read_groups_of_arguments(const UnitText& unit, Settings& settings) {
  const auto words = words_of(unit, container, "PodmanArgs", Dollar::expands);
  for (std::size_t i = 0; i < words.size(); ++i) {
    constexpr std::string_view option = "--group-add";
    if (words[i].starts_with("--group-add=")) {
      settings.groups.push_back(words[i].substr(option.size() + 1));
    } else if (words[i] == option && i + 1 < words.size()) {
      settings.groups.push_back(words[i + 1]);
    }
  }
}

Settings read_container(const UnitText& unit) {
  Settings settings;
  const auto image = words_of(unit, container, "Image", Dollar::expands);
  if (!image.empty()) settings.image = image.back();
  read_variables(unit, container, Dollar::expands, settings);
  settings.devices = words_of(unit, container, "AddDevice", Dollar::expands);
  settings.groups = words_of(unit, container, "GroupAdd", Dollar::expands);
  read_groups_of_arguments(unit, settings);
  const Assignment* exec = unit.last(container, "Exec");
  for (const UnitWord& word : exec == nullptr ? std::vector<UnitWord>{} : exec->words) {
    settings.command.push_back(undo_expansions(word.text, Dollar::expands));
  }
  for (const auto& [section, key] : {std::pair{container, "Memory"}, {service, "MemoryMax"}}) {
    const Assignment* limit = unit.last(section, key);
    if (limit == nullptr || limit->words.empty()) continue;
    const auto bytes = size_of(limit->words[0]);
    if (bytes && (!settings.memory || *bytes < *settings.memory)) settings.memory = bytes;
  }
  if (const UnitWord* word = memory_word(unit)) settings.memory = size_of(*word);
  return settings;
}

Settings read_service(const UnitText& unit) {
  Settings settings;
  read_variables(unit, service, Dollar::plain, settings);
  for (const Assignment* one : unit.all(service, "DeviceAllow")) {
    if (one->words.empty()) continue;
    const std::string& device = one->words[0].text;
    settings.devices.push_back(device == "char-drm" ? "/dev/dri" : device);
  }
  settings.groups = words_of(unit, service, "SupplementaryGroups", Dollar::plain);
  const Assignment* limit = unit.last(service, "MemoryMax");
  if (limit != nullptr && !limit->words.empty()) settings.memory = size_of(limit->words[0]);
  const Assignment* start = unit.last(service, "ExecStart");
  for (const UnitWord& word : start == nullptr ? std::vector<UnitWord>{} : start->words) {
    settings.command.push_back(undo_expansions(word.text, Dollar::expands));
  }
  return settings;
}

}  // namespace

std::string unit_size(Bytes bytes) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
  if (bytes.value % (mib << 10U) == 0) return fmt::format("{}G", bytes.value / (mib << 10U));
  if (bytes.value % mib == 0) return fmt::format("{}M", bytes.value / mib);
  return fmt::format("{}", bytes.value);
}

Result<std::string> edit_unit(const EditTarget& target, std::string text, const TypedSet& set) {
  HEADROOM_TRY(const Settings now, read_unit(target, text));
  Editor editor(std::move(text));
  if (target.kind == FileKind::quadlet) {
    edit_container(target, editor, now, set);
    return editor.take();
  }
  HEADROOM_CHECK(check_devices(target, editor.unit(), set));
  HEADROOM_CHECK(edit_service(target, editor, now, set));
  return editor.take();
}

Result<Settings> read_unit(const EditTarget& target, std::string_view text) {
  const UnitText unit(text);
  const std::string_view section = target.kind == FileKind::quadlet ? container : service;
  const bool is_there = unit.end_of(section) != std::string_view::npos;
  if (!is_there && !target.file.ends_with(".conf")) {
    return Error{Errc::invalid,
                 fmt::format("{}: expected a section [{}], found none", target.file, section),
                 "name the file that defines the service"};
  }
  return target.kind == FileKind::quadlet ? read_container(unit) : read_service(unit);
}

}  // namespace headroom::deploy
