// SPDX-License-Identifier: Apache-2.0
#include "machine/services/container_state.h"

#include <algorithm>

#include "base/document.h"
#include "base/text.h"

namespace headroom::machine {
namespace {

const Json& at(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}

std::uint64_t count_of(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return value.is_number_integer() && value.get<std::int64_t>() > 0 ? value.get<std::uint64_t>()
                                                                    : 0;
}

int code_of(const Json& value) {
  return value.is_number_integer() ? static_cast<int>(value.get<std::int64_t>()) : 0;
}

// podman-compose has written both sets of labels from 0.1.7 on, and its own alone before.
std::string label(const Json& labels, const char* name) {
  const std::string docker =
      text_of(at(labels, ("com.docker.compose." + std::string(name)).c_str()));
  return docker.empty() ? text_of(at(labels, ("io.podman.compose." + std::string(name)).c_str()))
                        : docker;
}

ContainerState to_state(const Json& one) {
  const Json& state = at(one, "State");
  const Json& host = at(one, "HostConfig");
  const Json& policy = at(host, "RestartPolicy");
  const Json& labels = at(at(one, "Config"), "Labels");
  ContainerState it;
  it.id = text_of(at(one, "Id"));
  it.name = text_of(at(one, "Name"));
  if (it.name.starts_with('/')) it.name.erase(0, 1);  // As Docker writes them.
  it.status = text_of(at(state, "Status"));
  it.started_at = text_of(at(state, "StartedAt"));
  it.pid = count_of(at(state, "Pid"));
  it.exit_code = code_of(at(state, "ExitCode"));
  it.oom_killed = at(state, "OOMKilled").is_boolean() && at(state, "OOMKilled").get<bool>();
  it.restarts = count_of(at(one, "RestartCount"));
  it.health = text_of(at(at(state, "Health"), "Status"));
  if (it.health == "none") it.health.clear();
  it.problem = text_of(at(state, "Error"));
  if (const std::uint64_t bytes = count_of(at(host, "Memory")); bytes > 0)
    it.memory_limit = Bytes{bytes};
  it.restart_policy = text_of(at(policy, "Name"));
  it.most_restarts = count_of(at(policy, "MaximumRetryCount"));
  it.project = label(labels, "project");
  it.folder = label(labels, "project.working_dir");
  it.files = label(labels, "project.config_files");
  it.once = to_lower(label(labels, "oneoff")) == "true";
  return it;
}

}  // namespace

bool is_up(const ContainerState& state) {
  return state.status == "running" || state.status == "paused" || state.status == "stopping";
}

bool is_to_restart(const ContainerState& state) {
  if (state.status == "restarting") return true;
  if (is_up(state) || state.status == "created" || state.status == "removing") return false;
  if (state.restart_policy == "always" || state.restart_policy == "unless-stopped") return true;
  return state.restart_policy == "on-failure" && state.exit_code != 0 &&
         (state.most_restarts == 0 || state.restarts < state.most_restarts);
}

Result<std::vector<ContainerState>> parse_containers(std::string_view text) {
  const auto json = parse_json(text);
  if (!json || !json->is_array()) {
    return Error{Errc::invalid, "expected a JSON list of containers from inspect, found none", ""};
  }
  std::vector<ContainerState> found;
  for (const Json& one : *json) {
    found.push_back(to_state(one));
    if (found.back().id.empty() || found.back().status.empty()) {
      return Error{Errc::invalid, "expected Id and State.Status of a container from inspect", ""};
    }
  }
  return found;
}

std::vector<int> parse_ends(std::string_view text) {
  std::vector<std::pair<std::int64_t, int>> ends;
  for (const std::string_view line : split_lines(text)) {
    const auto json = parse_json(line);
    if (!json || !json->is_object()) continue;
    const std::string action = text_of(at(*json, json->contains("Action") ? "Action" : "Status"));
    if (action != "die" && action != "died") continue;
    const Json& own = at(*json, "ContainerExitCode");
    const Json& attributes = at(at(*json, "Actor"), "Attributes");
    const auto code = own.is_number_integer() ? std::optional<std::int64_t>(own.get<std::int64_t>())
                                              : parse_i64(text_of(at(attributes, "exitCode")));
    const Json& time = at(*json, "timeNano");
    if (!code) continue;
    ends.emplace_back(time.is_number_integer() ? time.get<std::int64_t>() : 0,
                      static_cast<int>(*code));
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> codes;
  for (const auto& [time, code] : ends) codes.push_back(code);
  return codes;
}

}  // namespace headroom::machine
