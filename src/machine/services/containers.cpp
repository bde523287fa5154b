// SPDX-License-Identifier: Apache-2.0
#include "machine/services/containers.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/shell_quote.h"
#include "base/text.h"
#include "machine/services/held_signals.h"

namespace headroom::machine {
namespace {

constexpr std::uint64_t ask_timeout_ms = 20'000;
constexpr const char* most_lines = "20000";

// RFC 3339 in UTC: what both engines take for a moment.
std::string moment(std::int64_t ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (time - seconds).count());
}

}  // namespace

std::string error_line(const std::string& errors) {
  constexpr std::size_t longest = 300;
  std::string found;
  for (const std::string_view line : split_lines(errors)) {
    const std::string text(trim(line));
    const std::string small = to_lower(text);
    const bool speaks = small.find("error") != std::string::npos ||
                        small.find("cannot") != std::string::npos ||
                        small.find("denied") != std::string::npos;
    const bool repeats = small.starts_with("podman ") || small.starts_with("docker ") ||
                         small.starts_with("info:") || small.starts_with("debug:") ||
                         small.find("'-e'") != std::string::npos ||
                         small.find(" -e ") != std::string::npos ||
                         small.find("--env") != std::string::npos;
    if (speaks && !repeats) found = text.substr(0, longest);
  }
  return found;
}

Result<CallResult> Containers::call(const std::vector<std::string>& argv,
                                    std::uint64_t timeout_ms) const {
  const ProgramCall program{argv, surroundings_.folder, surroundings_.environment, "",
                            surroundings_.own};
  auto said = call_program(program, timeout_ms);
  if (!said) {
    Error error = std::move(said).error();
    if (error.code == Errc::busy) {
      error.message = fmt::format("expected {} to end within {:.0f} s, and it did not",
                                  shell_line(argv), static_cast<double>(timeout_ms) / 1000);
      error.next = argv[0] + " info   (says whether the engine answers)";
    }
    return error;
  }
  if (said->status == 0) return said;
  const std::string line = error_line(said->errors);
  return Error{Errc::io,
               fmt::format("expected {} to end with 0, found {}{}{}", shell_line(argv),
                           said->status, line.empty() ? "" : ": ", line),
               shell_line(argv)};
}

Status Containers::answers(const std::vector<std::string>& argv) const {
  HEADROOM_CHECK(call(argv, ask_timeout_ms));
  return Done{};
}

Result<std::vector<ComposeTool>> Containers::find_tools() const {
  std::vector<ComposeTool> found;
  std::string why, next;
  for (const std::string engine : {"docker", "podman"}) {
    // Lists nothing, but asks the engine; a version or a help text would only ask the client.
    const auto alive = answers({engine, "ps", "--quiet", "--last", "1"});
    if (!alive) {
      const bool is_there = alive.error().code != Errc::not_found;
      why += fmt::format("; {}: {}", engine, is_there ? alive.error().message : "not installed");
      if (is_there && next.empty()) next = engine + " ps   (says what is in its way)";
      continue;
    }
    const std::vector<std::vector<std::string>> ways{{engine, "compose"}, {engine + "-compose"}};
    const auto way = std::find_if(ways.begin(), ways.end(), [this](auto words) {
      words.emplace_back("version");
      return answers(words).has_value();
    });
    if (way != ways.end()) {
      found.push_back({engine, *way});
      continue;
    }
    why += fmt::format("; {0}: it answers, and neither `{0} compose` nor {0}-compose does", engine);
    next = engine == "docker" ? "sudo apt install docker-compose   (or docker-compose-plugin)"
                              : "sudo apt install podman-compose";
  }
  if (!found.empty()) return found;
  return Error{Errc::not_found,
               "expected Docker or Podman, and its compose, to answer, found neither" + why,
               next.empty() ? "sudo apt install podman podman-compose" : next};
}

Result<std::vector<ContainerState>> Containers::of_service(const std::string& engine,
                                                           const std::string& service) const {
  HEADROOM_TRY(const auto ids, call({engine, "ps", "--all", "--quiet", "--no-trunc", "--filter",
                                     "label=com.docker.compose.service=" + service},
                                    ask_timeout_ms));
  std::vector<std::string> list;
  for (const std::string_view line : split_lines(ids.output)) {
    if (!trim(line).empty()) list.emplace_back(trim(line));
  }
  if (list.empty()) return std::vector<ContainerState>();
  return inspect(engine, list, ask_timeout_ms);
}

Result<std::vector<ContainerState>> Containers::inspect(const std::string& engine,
                                                        const std::vector<std::string>& ids,
                                                        std::uint64_t timeout_ms) const {
  std::vector<std::string> argv{engine, "inspect", "--type", "container"};
  argv.insert(argv.end(), ids.begin(), ids.end());
  auto text = call(argv, timeout_ms);
  if (!text) {
    Error error = std::move(text).error();
    if (to_lower(error.message).find("no such") != std::string::npos) error.code = Errc::not_found;
    return error;
  }
  return parse_containers(text->output);
}

// Without --until they would be told for ever.
Result<std::vector<int>> Containers::ends(const std::string& engine, const std::string& id,
                                          std::int64_t since_ms) const {
  HEADROOM_TRY(const auto said, call({engine, "events", "--since", moment(since_ms), "--until",
                                      moment(time_of_day_ms()), "--filter", "container=" + id,
                                      "--format", "{{json .}}"},
                                     ask_timeout_ms));
  return parse_ends(said.output);
}

// Errors go where the rest goes: two pipes would lose the order.
Result<std::string> Containers::log(const std::string& engine, const std::string& id,
                                    std::int64_t since_ms) const {
  HEADROOM_TRY(auto said, call({"sh", "-c", "exec \"$@\" 2>&1", "sh", engine, "logs", "--since",
                                moment(since_ms), "--tail", most_lines, id},
                               ask_timeout_ms));
  return std::move(said.output);
}

}  // namespace headroom::machine
