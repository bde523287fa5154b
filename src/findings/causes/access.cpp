// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/access.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "knowledge/signatures.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// AMD_LOG_LEVEL's lines, ":3:rocdevice.cpp :468 : …", and librocdxg's, "pid:1817 tid:0x7f2c …".
bool is_of_runtimes_log(std::string_view line) {
  const bool leveled = line.size() > 2 && line[0] == ':' && line[2] == ':';
  return leveled || line.starts_with("pid:");
}

// A line further down is not taken for the command's output.
constexpr std::uint64_t longest_output_lines = 60;

}  // namespace

const Observation* gpu_not_seen(const LogSubject& subject) {
  return subject.log.first_of({"no-gpu-seen", "rocminfo-failed"});
}

const Observation* torch_sees_none(const LogSubject& subject) {
  // Who asks in a sentence tells the answer in it.
  static const RE2 told_false(
      R"((?i)is_available\(\).{0,40}\b(?:returns?|returned|gives?|gave|prints?|printed|says|said|shows?|is|was)\b\W{0,4}(?:me |still |always )?\W{0,3}false\b)");
  if (const auto* said = subject.log.first("torch-sees-no-gpu")) return said;
  for (const Observation* asked : subject.log.of("availability-asked")) {
    if (asked->text.find("is_available") == std::string::npos) continue;
    if (RE2::PartialMatch(asked->text, told_false)) return asked;
    for (const std::string& line : asked->output) {
      const std::string_view answer = trim(line);
      if (answer == "False" || answer == ">>> False") return asked;
      if (!answer.empty() && !answer.starts_with("```") && !is_of_runtimes_log(answer)) break;
    }
  }
  return nullptr;
}

std::string container_engine(const Scene& scene) {
  if (!scene.machine.container) return "";
  const std::string said = to_lower(*scene.machine.container);
  for (const std::string_view engine : {"podman", "docker", "kubernetes", "k8s", "k3s", "pod",
                                        "singularity", "apptainer", "lxc", "distrobox"}) {
    if (said.find(engine) == std::string::npos) continue;
    if (engine == "k8s" || engine == "k3s" || engine == "pod") return "kubernetes";
    return std::string(engine == "distrobox" ? "podman" : engine);
  }
  return "container";
}

bool shares_host_devices(const Scene& scene) {
  if (!scene.machine.container) return false;
  const std::string said = to_lower(*scene.machine.container);
  return said.find("toolbox") != std::string::npos || said.find("toolbx") != std::string::npos ||
         said.find("distrobox") != std::string::npos;
}

bool is_rootless(const LogSubject& subject) {
  const Scene& scene = subject.scene;
  if (scene.machine.container &&
      to_lower(*scene.machine.container).find("rootless") != std::string::npos) {
    return true;
  }
  for (const Observation* one : subject.log.of("device-node")) {
    if (one->value("owner") == "nobody" || one->value("group") == "nogroup") return true;
    // A user namespace shows this number for ids that it does not map (user_namespaces(7)).
    if (one->value("group") == "65534") return true;
  }
  const Observation* group = subject.log.first_of({"group-missing", "group-present"});
  return group != nullptr && group->value("group") == "nogroup";
}

const Observation* container_command_of(const LogSubject& subject, const Observation& line) {
  const Observation* command = nullptr;
  for (const Observation& one : subject.log.all()) {
    if (one.log != line.log || one.line > line.line) continue;
    if (one.signature->role != knowledge::Role::command) continue;
    // One line may have both the engine's command and the command that it runs; the engine's
    // counts.
    const bool same_line = command != nullptr && command->line == one.line;
    if (!same_line || one.id() == "container-command") command = &one;
  }
  if (command == nullptr || command->id() != "container-command") return nullptr;
  return line.line - command->line <= longest_output_lines ? command : nullptr;
}

const Observation* passes_kfd(const LogSubject& subject) {
  for (const Observation* command : subject.log.of("container-command")) {
    const bool starts = command->text.find(" run ") != std::string::npos;
    const bool passes = command->text.find("/dev/kfd") != std::string::npos ||
                        command->text.find("--privileged") != std::string::npos;
    if (starts && passes) return command;
  }
  for (const Observation* given : subject.log.of("lxc-device-given")) {
    if (given->value("given").starts_with("/dev/kfd")) return given;
  }
  // A sentence that quotes the command.
  static const RE2 quoted(
      R"(\b(?:docker|podman|nerdctl) (?:run|create)\b.*--device[= ]\S*/dev/kfd)");
  for (const Observation& one : subject.log.all()) {
    if (RE2::PartialMatch(one.text, quoted)) return &one;
  }
  return nullptr;
}

const Observation* kfd_absent(const LogSubject& subject) {
  for (const Observation* one : subject.log.of("kfd-absent")) {
    bool engine = false;
    for (const Observation* other : subject.log.of("engine-lacks-kfd")) {
      engine = engine || (other->log == one->log && other->line == one->line);
    }
    if (!engine) return one;
  }
  return nullptr;
}

PlatformSign platform_of(const LogSubject& subject) {
  struct Sign {
    std::string_view id;
    Platform platform;
    std::string_view meaning;
  };
  for (const Sign& sign :
       {Sign{"wsl-words", Platform::wsl, "the Windows Subsystem for Linux"},
        Sign{"mac-words", Platform::mac, "macOS"},
        Sign{"desktop-engine", Platform::desktop_vm, "the engine runs in a virtual machine"},
        Sign{"windows-words", Platform::windows, "Windows"}}) {
    if (const Observation* seen = subject.log.first(sign.id)) {
      return {sign.platform, show(subject, *seen, std::string(sign.meaning))};
    }
  }
  const Scene& scene = subject.scene;
  for (const facts::Text* text :
       {&scene.machine.container, &scene.machine.distribution, &scene.machine.kernel}) {
    if (!*text) continue;
    const std::string lower = to_lower(**text);
    const auto has = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
    if (has("wsl") || has("microsoft")) return {Platform::wsl, show(*text, "Windows's Linux")};
    if (has("docker desktop")) {
      return {Platform::desktop_vm, show(*text, "the engine runs in a virtual machine")};
    }
    if (has("windows")) return {Platform::windows, show(*text, "Windows")};
    if (has("macos") || has("mac os") || has("darwin"))
      return {Platform::mac, show(*text, "macOS")};
  }
  return {};
}

KfdNode kfd_node(const LogSubject& subject) {
  KfdNode node;
  for (const Observation* one : subject.log.of("device-node")) {
    if (one->value("node") != "kfd") continue;
    node.line = one;
    node.owner = one->value("owner");
    node.group = one->value("group");
    node.mode = one->value("mode");
    node.everybody = node.mode.ends_with("rw-");
  }
  return node;
}

UserGroups user_groups(const LogSubject& subject) {
  UserGroups user;
  if (const Observation* id = subject.log.last("id-output")) {
    user.line = id;
    user.root = id->value("uid") == "0";
    // The value is like "1000(ada),27(sudo)".
    for (const std::string_view word : split(id->value("groups"), ',')) {
      const std::size_t open = word.find('(');
      const std::string_view name =
          open == std::string_view::npos ? word : word.substr(open + 1, word.size() - open - 2);
      user.names.emplace_back(name);
    }
    return user;
  }
  const Observation* command = subject.log.last("groups-command");
  if (command == nullptr || command->output.empty()) return user;
  user.line = command;
  std::string_view said = command->output.front();
  if (const std::size_t colon = said.find(" : "); colon != std::string_view::npos) {
    said.remove_prefix(colon + 3);
  }
  for (const std::string_view word : split_words(said)) user.names.emplace_back(word);
  user.root = !user.names.empty() && user.names.front() == "root";
  return user;
}

std::string gpu_title(const Scene& scene) {
  const SceneGpu* gpu = scene.discrete_gpu();
  if (gpu == nullptr && !scene.gpus.empty()) gpu = &scene.gpus.front();
  if (gpu == nullptr) return "the GPU";
  if (gpu->name.empty()) return gpu->gfx;
  return gpu->gfx.empty() ? gpu->name : fmt::format("{} ({})", gpu->name, gpu->gfx);
}

}  // namespace headroom::findings
