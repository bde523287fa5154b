// SPDX-License-Identifier: Apache-2.0
#include "probe/read_shell.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "probe/read_text.h"

namespace headroom::probe {
namespace {

// The variables that say where Python and its libraries are.
constexpr std::array<std::string_view, 3> paths = {"PATH", "HOME", "LD_LIBRARY_PATH"};

std::string keep_wanted(std::string_view environment, const knowledge::KnobTable& knobs) {
  std::string kept;
  for (const std::string_view entry : split(environment, '\0')) {
    const std::string name(entry.substr(0, entry.find('=')));
    const bool wanted =
        std::find(paths.begin(), paths.end(), name) != paths.end() || is_knob(knobs, name);
    if (wanted && !name.empty()) kept.append(entry).push_back('\0');
  }
  return kept;
}

}  // namespace

std::string find_variable(std::string_view environment, std::string_view name) {
  for (const std::string_view entry : split(environment, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == name) {
      return std::string(entry.substr(equals + 1));
    }
  }
  return "";
}

bool is_knob(const knowledge::KnobTable& knobs, const std::string& name) {
  return knobs.find(name) != nullptr || knobs.meant(name).has_value();
}

std::string Shell::get(std::string_view name) const {
  return text ? find_variable(*text, name) : "";
}

facts::Variables Shell::variables() const {
  facts::Variables variables;
  if (!text) return variables;
  for (const std::string_view entry : split(*text, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

Shell read_shell(const machine::Files& files, const facts::MachineFacts& machine,
                 const Surroundings& surroundings, const knowledge::KnobTable& knobs) {
  Shell shell;
  shell.text = read_answer("this shell", [&] {
    return files.ask("environment", [&]() -> Result<std::string> {
      return keep_wanted(surroundings.environment, knobs);
    });
  });
  shell.own = shell.text.known();
  if (shell.own || !machine.in_container()) return shell;
  const facts::Text first = read_text(files, "/proc/1/environ");
  shell.text = first ? facts::Text(keep_wanted(*first, knobs), first.source()) : first;
  return shell;
}

}  // namespace headroom::probe
