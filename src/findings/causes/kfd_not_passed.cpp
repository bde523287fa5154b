// SPDX-License-Identifier: Apache-2.0
// kfd-not-passed: the container was started without /dev/kfd. Either a line from inside says that
// it is absent, or the command that started the container does not pass it.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Joins a command that goes over several lines, each ended by a backslash.
std::string whole_command(const Observation& command) {
  std::string text = command.text;
  for (const std::string& line : command.output) {
    if (!text.ends_with('\\')) break;
    text.back() = ' ';
    text += line;
  }
  return text;
}

// Says how the command that starts a container leaves the device out; empty if it does not, or if
// the command does not tell.
std::string omission(const Observation& command) {
  const std::string text = whole_command(command);
  const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const std::string_view engine = command.value("container");
  if (engine == "singularity" || engine == "apptainer") {
    if (!has("exec") && !has("run") && !has("shell")) return "";
    if (!has("--rocm")) return "without --rocm";
    return has("--contain") ? "with --contain, which creates its own /dev" : "";
  }
  const bool starts = (engine == "docker" || engine == "podman" || engine == "nerdctl") &&
                      has(" run ") && !has("compose");
  if (!starts || has("/dev/kfd") || has("--privileged") || has("amd.com/gpu")) return "";
  if (has("amd-container-runtime") || has("--runtime=amd") || has("--runtime amd")) return "";
  if (has("--gpus")) return "with --gpus, which is for NVIDIA cards, and without /dev/kfd";
  return has("/dev/dri") ? "with only /dev/dri" : "without --device /dev/kfd";
}

// Finds an `ls /dev` that lists devices but not kfd. A listing longer than what is kept may have it
// further down.
const Observation* listing_without_kfd(const LogSubject& subject) {
  static const RE2 entry(R"((?:total \d+|[bcdlsp-][rwxstST-]{9}.*|[\w.@+:-]+(?:\s+[\w.@+:-]+)*)?)");
  for (const Observation* list : subject.log.of("list-dev-command")) {
    std::size_t lines = 0;
    bool lists = false, kfd = false;
    for (const std::string& line : list->output) {
      if (!RE2::FullMatch(line, entry)) break;
      ++lines;
      for (const std::string_view word : split_words(line)) {
        lists = lists || word == "null" || word == "zero" || word == "full";
        kfd = kfd || word == "kfd";
      }
    }
    const bool whole = lines < static_cast<std::size_t>(list->signature->output);
    if (lists && whole && !kfd) return list;
  }
  return nullptr;
}

bool shown_inside(const LogSubject& subject, Hypothesis& passed) {
  if (const Observation* said = subject.log.first("ollama-kfd-not-passed")) {
    passed.confidence = container_engine(subject.scene).empty() ? 0.75 : 0.93;
    passed.reasons.emplace_back(
        "/sys shows amdgpu, so the host drives the GPU; /dev/kfd is absent.");
    passed.evidence.push_back(show(subject, *said));
    return true;
  }
  const Observation* list = listing_without_kfd(subject);
  if (list != nullptr && !container_engine(subject.scene).empty()) {
    passed.confidence = 0.93;
    passed.reasons.emplace_back("The container's /dev is listed, and kfd is not in it.");
    passed.evidence.push_back(show(subject, *list, "no kfd among its output"));
    return true;
  }
  const Observation* absent = kfd_absent(subject);
  if (absent == nullptr || container_engine(subject.scene).empty()) return false;
  passed.confidence = container_command_of(subject, *absent) != nullptr ? 0.9 : 0.85;
  // What the command passes was not forgotten.
  if (passes_kfd(subject) != nullptr) passed.confidence = 0.4;
  passed.reasons.emplace_back("Inside the container there is no node /dev/kfd.");
  passed.evidence.push_back(show(subject, *absent));
  return true;
}

// The configuration of an LXC container names the render nodes and not KFD's. Its number changes
// from one machine to the next, so any number but the render nodes' may be KFD's.
bool shown_by_lxc(const LogSubject& subject, Hypothesis& passed) {
  const Observation* given = nullptr;
  for (const Observation* one : subject.log.of("lxc-device-given")) {
    const std::string_view major = one->value("major");
    const bool of_dri = one->value("given").starts_with("/dev/dri") || major == "226";
    if (!of_dri) return false;
    if (given == nullptr) given = one;
  }
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = torch_sees_none(subject);
  if (lost == nullptr)
    lost = subject.log.first_of({"kfd-absent", "kfd-refused", "ollama-on-cpu", "gpu-said-unused"});
  if (given == nullptr || lost == nullptr) return false;
  passed.confidence = confidence::likely;
  passed.reasons.emplace_back(
      "The container's configuration names /dev/dri and not /dev/kfd. Drawing needs the first "
      "alone, ROCm needs both.");
  passed.evidence = {show(subject, *given, "the devices that it is given"),
                     show(subject, *lost, "no GPU inside")};
  passed.fix.push_back(
      sentence("In Proxmox, add the device: pct set ID -dev2 /dev/kfd,gid=104 (the "
               "number of the group render in the container)."));
  passed.fix.push_back(
      sentence("Otherwise add to its configuration: lxc.mount.entry: /dev/kfd dev/kfd none "
               "bind,optional,create=file, and lxc.cgroup2.devices.allow: c NUMBER:0 rwm with the "
               "number from ls -l /dev/kfd on the host."));
  return true;
}

// Some of the host's GPUs were passed: the topology shows all, and another one is asked for.
bool shown_by_topology(const LogSubject& subject, Hypothesis& passed) {
  const Observation* node = subject.log.first("kfd-node-withheld");
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = subject.log.first("bad-device-index");
  if (node == nullptr || lost == nullptr) return false;
  passed.confidence = container_engine(subject.scene).empty() ? 0.75 : 0.93;
  passed.title = "A GPU of the host was not passed to this container";
  passed.reasons.emplace_back(
      "Inside a container /sys shows every GPU of the host. A KFD node that answers \"Operation "
      "not permitted\" belongs to a GPU that the container's device rules withhold.");
  passed.evidence = {show(subject, *node, "a GPU that is withheld"),
                     show(subject, *lost, "the job asks for a GPU that is not there")};
  passed.fix = {
      sentence("To use that GPU too, pass its render node, /dev/dri/renderD*, as well."),
      sentence("Or use only the GPUs that were passed: ls /dev/dri; rocminfo | grep gfx")};
  return true;
}

bool shown_by_command(const LogSubject& subject, Hypothesis& passed) {
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = torch_sees_none(subject);
  if (lost == nullptr) lost = subject.log.first_of({"ollama-on-cpu", "gpu-said-unused"});
  for (const Observation* command : subject.log.of("container-command")) {
    const std::string how = omission(*command);
    if (how.empty() || lost == nullptr) continue;
    passed.confidence = confidence::likely;
    passed.reasons.push_back(fmt::format("The container was started {}.", how));
    passed.evidence = {show(subject, *command, "the command that starts it"),
                       show(subject, *lost, "no GPU inside")};
    return true;
  }
  return false;
}

// A compose file that has the node as a comment, as templates for several vendors do.
bool shown_by_compose(const LogSubject& subject, Hypothesis& passed) {
  const Observation* comment = subject.log.first("compose-kfd-commented-out");
  if (comment == nullptr || passes_kfd(subject) != nullptr) return false;
  const Observation* lost = gpu_not_seen(subject);
  passed.confidence = lost != nullptr ? confidence::likely : 0.7;
  passed.reasons.emplace_back(
      "In the compose file the line for /dev/kfd is a comment, so the container does not get the "
      "node.");
  passed.evidence.push_back(show(subject, *comment, "commented out"));
  if (lost != nullptr) passed.evidence.push_back(show(subject, *lost, "no GPU inside"));
  passed.fix.push_back(
      sentence("In the compose file, remove the # before /dev/kfd. Then: docker "
               "compose up -d --force-recreate"));
  return true;
}

bool shown_by_engine(const LogSubject& subject, Hypothesis& passed) {
  if (const Observation* flag = subject.log.first("gpus-flag")) {
    passed.confidence = 0.75;
    passed.reasons.emplace_back("--gpus uses NVIDIA's runtime. AMD GPUs are passed as devices.");
    passed.evidence.push_back(show(subject, *flag));
    return true;
  }
  if (const Observation* pods = subject.log.first("pods-lack-gpu")) {
    passed.confidence = 0.7;
    passed.reasons.emplace_back(
        "No node offers amd.com/gpu: AMD's device plugin does not run, or every GPU is already "
        "assigned.");
    passed.evidence.push_back(show(subject, *pods));
    passed.fix.push_back(
        command("kubectl get nodes -o "
                "custom-columns=NAME:.metadata.name,GPU:.status.allocatable.amd\\\\.com/gpu"));
    return true;
  }
  const Observation* lost = gpu_not_seen(subject);
  const bool other = subject.log.any_of({"kfd-refused", "module-not-loaded", "atomics-rejected",
                                         "kfd-unsupported-chip", "bad-device-index"});
  if (lost == nullptr || other || container_engine(subject.scene).empty()) return false;
  if (passes_kfd(subject) != nullptr || shares_host_devices(subject.scene)) return false;
  passed.confidence = 0.45;
  passed.reasons.emplace_back(
      "A program inside a container finds no GPU; this is the usual cause.");
  passed.evidence.push_back(show(subject, *lost));
  passed.alternatives.push_back({"device-permission", 0.3, "in the container: ls -l /dev/kfd; id"});
  return true;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Hypothesis passed;
  if (shown_by_topology(subject, passed)) return passed;
  const bool of_lxc = shown_by_lxc(subject, passed);
  if (!of_lxc && !shown_inside(subject, passed) && !shown_by_command(subject, passed) &&
      !shown_by_compose(subject, passed) && !shown_by_engine(subject, passed)) {
    return std::nullopt;
  }
  if (platform_of(subject).platform != Platform::native) {
    passed.confidence = std::min(passed.confidence, 0.3);
  }
  const Observation* refused = subject.log.first("kfd-refused");
  if (refused != nullptr && !of_lxc) passed.confidence = std::min(passed.confidence, 0.3);
  const std::string engine = container_engine(subject.scene);
  passed.title = "The container was not given /dev/kfd, which ROCm needs";
  passed.fix.push_back(sentence_with(
      "On the host, check that the node exists; then the driver is fine", "ls -l /dev/kfd"));
  passed.fix.push_back(sentence_with("On the host, start the container with the GPU's devices",
                                     pass_devices_command(engine)));
  if (engine == "singularity" || engine == "apptainer") {
    passed.fix.push_back(sentence("With --contain, also add --bind /dev/kfd --bind /dev/dri."));
  }
  passed.fix.push_back(
      look("ls -l /dev/kfd /dev/dri && rocminfo | grep gfx", "(inside the container)"));
  return passed;
}

}  // namespace

constinit const CauseRule kfd_not_passed_cause = {
    .id = "kfd-not-passed",
    .meaning = "The host has the compute driver, but the container was not given /dev/kfd.",
    .why =
        "Graphics needs only /dev/dri, and /sys shows the host's GPUs inside every container. So "
        "all looks right until ROCm starts and finds no device.",
    .fix = "Start the container with both: --device /dev/kfd --device /dev/dri.",
    .explains = "driver-not-loaded crash-loop framework-bug app-bug device-index gpu-not-used",
    .find = find,
};

}  // namespace headroom::findings
