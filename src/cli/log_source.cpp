// SPDX-License-Identifier: Apache-2.0
#include "cli/log_source.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/text.h"
#include "machine/input_stream.h"

namespace headroom::cli {
namespace {

using machine::InputStream;

// So many lines of before are looked at as well.
constexpr const char* lines_before = "500";

// What a program prints; nothing if it is not there or fails.
std::optional<std::string> ask(const std::vector<std::string>& argv) {
  auto stream = InputStream::from_program(argv);
  if (!stream) return std::nullopt;
  std::string text;
  std::vector<char> buffer(4096);
  for (;;) {
    const auto piece = stream->read(buffer, std::chrono::seconds(1));
    if (!piece) return std::nullopt;
    if (piece->state == InputStream::State::end) break;
    text.append(buffer.data(), piece->size);
  }
  return stream->wait_for_exit() == 0 ? std::optional(text) : std::nullopt;
}

bool is_unit(const std::string& name, const std::vector<std::string>& systemctl) {
  std::vector<std::string> argv = systemctl;
  for (const char* word : {"show", "--property=LoadState", "--value", "--"}) argv.push_back(word);
  argv.push_back(name);
  const auto state = ask(argv);
  return state && trim(*state) == "loaded";
}

LogSource unit(const std::string& name, const char* option) {
  return {"unit " + name,
          {"journalctl", "-f", "-n", lines_before, option, name, "-o", "short-iso", "--no-pager"}};
}

std::optional<LogSource> container(const std::string& name) {
  for (const char* engine : {"docker", "podman"}) {
    if (!ask({engine, "inspect", "--type", "container", "--format", "{{.Name}}", "--", name})) {
      continue;
    }
    return LogSource{"container " + name, {engine, "logs", "-f", "--tail", lines_before, name}};
  }
  return std::nullopt;
}

}  // namespace

Result<LogSource> find_log_source(const std::string& name) {
  constexpr std::string_view unit_mark = "unit:", container_mark = "container:";
  const bool says_unit = name.starts_with(unit_mark);
  const bool says_container = name.starts_with(container_mark);
  std::string plain = name;
  if (says_unit) plain = name.substr(unit_mark.size());
  if (says_container) plain = name.substr(container_mark.size());
  const auto not_found = [&](const char* expected, const char* next) {
    return Error{Errc::not_found,
                 fmt::format("--watch {}: expected the name of {}, found none with this name", name,
                             expected),
                 next};
  };
  // A name is an argument of other programs.
  if (plain.empty() || plain.starts_with('-')) {
    return not_found("a systemd unit or a container", "headroom check --help");
  }
  if (!says_container) {
    if (is_unit(plain, {"systemctl"})) return unit(plain, "-u");
    if (is_unit(plain, {"systemctl", "--user"})) return unit(plain, "--user-unit");
    if (says_unit) return not_found("a systemd unit", "systemctl list-units --type=service");
  }
  if (auto found = container(plain)) return *std::move(found);
  if (says_container) return not_found("a container of docker or podman", "docker ps -a");
  return not_found("a systemd unit, or of a container of docker or podman",
                   "systemctl list-units --type=service; docker ps -a");
}

}  // namespace headroom::cli
