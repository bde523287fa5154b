// SPDX-License-Identifier: Apache-2.0
// device-permission: the device node exists but may not be opened. EACCES says so; the node's group
// and the user's groups prove it even without a message. ENOENT has another cause.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/control_run.h"
#include "findings/causes/recovery.h"

namespace headroom::findings {
namespace {

using logs::Observation;

void advise(const LogSubject& subject, const std::string& group, Hypothesis& access) {
  const std::string engine = container_engine(subject.scene);
  const std::string join = fmt::format("sudo usermod -aG {},video \"$USER\"", group);
  if (engine.empty()) {
    access.fix = {sentence_with("Add yourself to the groups that own the devices", join),
                  sentence("Log out and log in again. A new shell is not enough."),
                  sentence_with("For a service, add the user that it runs as, and restart it",
                                "sudo usermod -aG " + group + ",video SERVICE_USER"),
                  look("id -nG", "(must name the groups)"),
                  look("rocminfo | grep gfx", "(must list the GPU)")};
    return;
  }
  access.fix = {sentence_with("On the host, look up the numbers of the groups that own the devices",
                              "ls -ln /dev/kfd /dev/dri/renderD*")};
  if (engine == "podman") {
    access.fix.push_back(sentence_with("On the host, join the groups and log in again", join));
    access.fix.push_back(
        sentence_with("Start the container with your groups",
                      "podman run --device /dev/kfd --device /dev/dri --group-add keep-groups …"));
  } else if (engine == "kubernetes") {
    access.fix.push_back(
        sentence("In the pod, set securityContext.supplementalGroups: [those numbers]. AMD's "
                 "device plugin gives the device."));
  } else if (engine == "lxc") {
    access.fix.push_back(sentence(
        "In the container's configuration, set dev0: /dev/kfd,gid=RENDER and dev1: "
        "/dev/dri/renderD128,gid=RENDER. RENDER is the group's number inside the container."));
  } else {
    access.fix.push_back(
        sentence_with("Start the container with --group-add for each of these numbers",
                      "docker run --device /dev/kfd --device /dev/dri --group-add NUMBER …"));
  }
  if (is_rootless(subject)) {
    access.fix.push_back(sentence_with(
        "If a rootless engine cannot keep groups, let everybody open the node, on the host",
        "echo 'KERNEL==\"kfd\", MODE=\"0666\"' | sudo tee /etc/udev/rules.d/70-kfd.rules && sudo "
        "udevadm control --reload && sudo udevadm trigger"));
  }
  access.fix.push_back(sentence_with("If the host uses SELinux, allow devices in containers",
                                     "sudo setsebool -P container_use_devices=true"));
}

// Whether the node's group is not among the user's, which proves it without a message.
bool groups_differ(const LogSubject& subject, Hypothesis& access) {
  const KfdNode node = kfd_node(subject);
  const UserGroups user = user_groups(subject);
  if (node.line == nullptr || user.line == nullptr || node.everybody || user.root) return false;
  if (std::find(user.names.begin(), user.names.end(), node.group) != user.names.end()) return false;
  access.title =
      fmt::format("/dev/kfd belongs to the group {}, and this user is not a member", node.group);
  access.reasons.push_back(fmt::format(
      "The node's mode is {}: its owner {} and its group {} may open it. The user's groups are {}.",
      node.mode, node.owner, node.group, join(user.names, ", ")));
  access.evidence.push_back(show(subject, *node.line, "who may open /dev/kfd"));
  access.evidence.push_back(show(subject, *user.line, "the user's groups"));
  advise(subject, node.group, access);
  // rocminfo creates its agents with what it reads through the node.
  const bool is_felt = gpu_not_seen(subject) != nullptr || torch_sees_none(subject) != nullptr ||
                       subject.log.seen("kfd-refused") || subject.log.seen("agent-not-created");
  access.confidence = is_felt ? confidence::proven : 0.7;
  return true;
}

// Likewise for a render node alone, which is all that video and graphics need.
bool render_groups_differ(const LogSubject& subject, Hypothesis& access) {
  const UserGroups user = user_groups(subject);
  const Observation* failed = standing_failure(subject.log);
  if (user.line == nullptr || user.root || failed == nullptr || kfd_node(subject).line != nullptr) {
    return false;
  }
  // A number without a name may be the node's group.
  const bool unnamed = std::any_of(user.names.begin(), user.names.end(),
                                   [](const auto& name) { return parse_u64(name).has_value(); });
  for (const Observation* node : subject.log.of("device-node")) {
    const std::string group(node->value("group"));
    // The plus is of an access list, which lets whoever sits at the machine open the node.
    const bool listed =
        node->text.find(std::string(node->value("mode")) + '+') != std::string::npos;
    const bool closed = !listed && node->value("node").starts_with("renderD") &&
                        !node->value("mode").empty() && !node->value("mode").ends_with("rw-");
    if (!closed || unnamed || group == "root") continue;
    if (std::find(user.names.begin(), user.names.end(), group) != user.names.end()) continue;
    access.title = fmt::format("/dev/dri/{} belongs to the group {}, and this user is not a member",
                               node->value("node"), group);
    access.reasons.push_back(fmt::format(
        "The node's mode is {}: its owner {} and its group {} may open it. The user's groups are "
        "{}.",
        node->value("mode"), node->value("owner"), group, join(user.names, ", ")));
    access.evidence = {show(subject, *node, "who may open it"),
                       show(subject, *user.line, "the user's groups"), show(subject, *failed)};
    access.confidence = 0.7;
    advise(subject, group, access);
    return true;
  }
  return false;
}

bool kfd_refused(const LogSubject& subject, Hypothesis& access) {
  const Observation* refused = subject.log.first("kfd-refused");
  if (refused == nullptr) refused = subject.log.first("selinux-denied");
  if (refused == nullptr) return false;
  const std::string engine = container_engine(subject.scene);
  const Observation* missing = subject.log.first("group-missing");
  const std::string group =
      missing != nullptr && missing->value("group") != "nogroup" && missing->value("user") != "root"
          ? std::string(missing->value("group"))
          : "render";
  access.title = engine.empty() ? "This user may not open /dev/kfd"
                 : is_rootless(subject)
                     ? "A rootless container may not open /dev/kfd: its root is not the host's"
                     : "The container has /dev/kfd but may not open it";
  access.confidence = engine.empty() || missing != nullptr ? 0.93 : 0.88;
  const std::string error = to_lower(refused->value("error"));
  if (error.find("not permitted") != std::string::npos && !engine.empty()) {
    access.confidence = 0.7;
    access.reasons.emplace_back(
        "The error is EPERM, not EACCES: the container's device rules forbid the node, whatever "
        "its mode.");
    access.alternatives.push_back(
        {"kfd-not-passed", 0.25, "whether the container was started with --device /dev/kfd"});
  }
  access.reasons.emplace_back(
      "The node exists (otherwise the error would be \"No such file\"), so the driver is loaded. "
      "Opening the node is refused.");
  if (!engine.empty()) {
    access.reasons.emplace_back(
        "Inside a container the node belongs to a group number of the host. A name such as video "
        "may stand for another number there.");
  }
  access.evidence.push_back(show(subject, *refused, "opening the node is refused"));
  if (missing != nullptr) access.evidence.push_back(show(subject, *missing));
  advise(subject, group, access);
  return true;
}

// Whether the GPU shows only in /sys, which everybody can read, while the runtime needs the node.
bool seen_in_sysfs_only(const LogSubject& subject, Hypothesis& access) {
  const Observation* found = subject.log.first("ollama-device");
  const Observation* lost = subject.log.first("no-gpu-seen");
  const Observation* node = subject.log.first("render-node-refused");
  if (node != nullptr) {
    access.title = "The job has no permission to open the GPU's render node";
    access.confidence = confidence::likely;
    access.evidence.push_back(show(subject, *node));
  } else if (found != nullptr && lost != nullptr && lost->line > found->line) {
    access.title =
        fmt::format("{} is visible in /sys, but ROCm may not open it", gpu_title(subject.scene));
    access.reasons.emplace_back(
        "The program found the GPU in /sys, which anybody may read. The runtime, which opens "
        "/dev/kfd, found no device.");
    access.confidence = 0.65;
    access.evidence = {show(subject, *found), show(subject, *lost)};
    access.alternatives.push_back({"kfd-not-passed", 0.3, "ls -l /dev/kfd where the job runs"});
  } else {
    return false;
  }
  advise(subject, "render", access);
  return true;
}

// EINVAL is no refusal by mode or group. In containers it comes where the process's user namespace
// or device rules do not fit the host's (legacy#4043, legacy#5379); elsewhere nothing is known.
bool process_refused(const LogSubject& subject, Hypothesis& access) {
  const Observation* refused = nullptr;
  for (const Observation* one : subject.log.of("kfd-refuses-process")) {
    const bool invalid =
        one->value("error") == "Invalid argument" || one->value("number") == "EINVAL";
    if (invalid) refused = one;
  }
  if (refused == nullptr || container_engine(subject.scene).empty()) return false;
  access.title = "KFD refuses processes of this container (EINVAL)";
  access.confidence = is_rootless(subject) ? 0.6 : 0.45;
  access.reasons.emplace_back(
      "The node can be opened, but the compute driver cannot set the process up. Run the same "
      "program on the host or in a privileged container to see whether the container is the "
      "reason.");
  access.evidence.push_back(show(subject, *refused, "opened, then refused"));
  advise(subject, "render", access);
  access.alternatives = {{"kernel-too-old", 0.2, "uname -r, against the ROCm of the container"},
                         {"gpu-unsupported", 0.15, "rocminfo, on the host itself"}};
  return true;
}

// Whether a user namespace does not map the node's group and so shows it as nobody's.
bool group_not_mapped(const LogSubject& subject, Hypothesis& access) {
  const KfdNode node = kfd_node(subject);
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr) lost = subject.log.first_of({"ollama-on-cpu", "gpu-said-unused"});
  const bool unmapped = node.group == "65534" || node.group == "nobody" || node.group == "nogroup";
  if (node.line == nullptr || lost == nullptr || node.everybody || !unmapped) return false;
  access.title = "A rootless container has /dev/kfd but may not open it: the group is not mapped";
  access.reasons.push_back(
      fmt::format("Inside, the node belongs to {}, which means that this user namespace does not "
                  "know the group. Its mode {} lets nobody else open it.",
                  node.group, node.mode));
  access.evidence = {show(subject, *node.line, "who may open /dev/kfd"), show(subject, *lost)};
  access.confidence = 0.85;
  advise(subject, "render", access);
  return true;
}

// Inside a container the node belongs to a number that has no name there, so nobody in it is a
// member, and the job is said to run as a user without rights. AMD's device plugin for Kubernetes
// passes the nodes with the host's numbers (ROCm/k8s-device-plugin#39).
bool group_without_a_name(const LogSubject& subject, Hypothesis& access) {
  const KfdNode node = kfd_node(subject);
  const Observation* user = subject.log.first("unprivileged-user-told");
  if (node.line == nullptr || node.everybody || user == nullptr) return false;
  if (!parse_u64(node.group) || container_engine(subject.scene).empty()) return false;
  const UserGroups groups = user_groups(subject);
  if (std::find(groups.names.begin(), groups.names.end(), node.group) != groups.names.end()) {
    return false;
  }
  access.title = fmt::format(
      "/dev/kfd belongs to the group number {}, which has no name and no "
      "members in this container",
      node.group);
  access.reasons.push_back(
      fmt::format("The node's mode is {}: its owner {} and that group may open it. The number is "
                  "the host's.",
                  node.mode, node.owner));
  access.evidence = {show(subject, *node.line, "who may open /dev/kfd"),
                     show(subject, *user, "who is to open it")};
  access.confidence = 0.75;
  advise(subject, node.group, access);
  return true;
}

// The command behind the failure that runs the same program as root, and after which none fails.
const Observation* works_as_root(const LogSubject& subject, const Observation& lost) {
  static const RE2 as_root(
      R"(\bsudo\s+(?:-\S+\s+)*(?:\S*/)?(rocminfo|clinfo|rocm_agent_enumerator)\b)");
  const Observation* found = nullptr;
  for (const Observation& one : subject.log.all()) {
    if (one.log != lost.log || one.line <= lost.line) continue;
    if (found != nullptr && is_failure(subject.log, one)) return nullptr;
    if (found == nullptr && RE2::PartialMatch(one.text, as_root)) found = &one;
  }
  return found;
}

// A container that was given the nodes and finds no GPU: its user may not open them.
bool passed_and_not_opened(const LogSubject& subject, Hypothesis& access) {
  const Observation* lost = gpu_not_seen(subject);
  const Observation* passes = passes_kfd(subject);
  if (lost == nullptr || passes == nullptr || kfd_absent(subject) != nullptr) return false;
  if (kfd_node(subject).everybody) return false;
  const Observation* root = works_as_root(subject, *lost);
  access.title = "The container has /dev/kfd, but its user may not open it";
  access.confidence = root != nullptr ? 0.8 : 0.45;
  access.reasons.emplace_back(
      "The command passes the nodes. They belong to group numbers of the host, and the container's "
      "user is not in those groups.");
  access.evidence = {show(subject, *passes, "the nodes are passed"),
                     show(subject, *lost, "no GPU inside")};
  if (root != nullptr) access.evidence.push_back(show(subject, *root, "as root it works"));
  advise(subject, "render", access);
  return true;
}

// Whether the same command works once it runs with the node's group (`sg render -c ...`).
bool works_with_group(const LogSubject& subject, Hypothesis& access) {
  for (const ControlRun& run : find_control_runs(subject.log)) {
    if (run.setting != "sg" || !run.with.works) continue;
    access.title = "This user's session is not in the group that may open /dev/kfd";
    access.confidence = 0.85;
    access.reasons.emplace_back(
        "The same command works with the group and fails without it. A new membership takes effect "
        "at the next login.");
    access.evidence = {show(subject, *run.without.command, "without the group it fails"),
                       show(subject, *run.with.command, "with the group it works")};
    advise(subject, "render", access);
    return true;
  }
  return false;
}

// Whether the author says that root gets through where this user does not.
bool said_to_work_as_root(const LogSubject& subject, Hypothesis& access) {
  static const RE2 not_so(R"((?i)\b(?:not|no|neither|same|too|also|either|nor)\b|n't\b)");
  const Observation* lost = gpu_not_seen(subject);
  if (lost == nullptr || !container_engine(subject.scene).empty()) return false;
  for (const Observation* said : subject.log.of("said-to-work-as-root")) {
    if (RE2::PartialMatch(said->text, not_so)) continue;
    access.title = "This user may not open /dev/kfd; root may";
    access.confidence = 0.85;
    access.reasons.emplace_back(
        "The driver, the runtime and the GPU are the same for both. What differs is who may open "
        "the nodes. A new release may have moved them from the group video to render.");
    access.evidence = {show(subject, *lost), show(subject, *said, "as root it works")};
    advise(subject, "render", access);
    return true;
  }
  return false;
}

// rocminfo up to ROCm 3 looks for the group video and no other, finds the user in it, and then
// cannot open the node. From Ubuntu 20.04 on udev gives the nodes to render.
const Observation* member_of_video_alone(const LogSubject& subject) {
  static const RE2 no_resources(R"(HSA_STATUS_ERROR_OUT_OF_RESOURCES|returned 4104)");
  const Observation* member = subject.log.first("group-present");
  if (member == nullptr || member->value("group") != "video") return nullptr;
  if (subject.log.any_of({"kfd-absent", "module-not-loaded", "kfd-refuses-process"})) {
    return nullptr;
  }
  for (const Observation* failed : subject.log.of("rocminfo-failed")) {
    if (RE2::PartialMatch(failed->text, no_resources)) return member;
  }
  return nullptr;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Hypothesis access;
  if (works_with_group(subject, access)) return access;
  if (groups_differ(subject, access) || kfd_refused(subject, access) ||
      group_not_mapped(subject, access) || group_without_a_name(subject, access) ||
      process_refused(subject, access) || passed_and_not_opened(subject, access) ||
      seen_in_sysfs_only(subject, access) || render_groups_differ(subject, access) ||
      said_to_work_as_root(subject, access)) {
    return access;
  }
  const Observation* lost = gpu_not_seen(subject);
  const facts::Facts* here = subject.scene.measured;
  if (lost != nullptr && here != nullptr && here->machine.kfd_usable &&
      !*here->machine.kfd_usable) {
    access.title = "This user may not open /dev/kfd";
    access.confidence = 0.9;
    access.evidence = {show(here->machine.kfd_usable, "tried here: refused"), show(subject, *lost)};
    advise(subject, "render", access);
    return access;
  }
  const bool contained = !container_engine(subject.scene).empty();
  if (lost == nullptr || (contained && !shares_host_devices(subject.scene))) return std::nullopt;
  access.title = "This user may lack permission to open /dev/kfd";
  access.confidence = 0.3;
  access.evidence.push_back(show(subject, *lost));
  if (const Observation* joined = subject.log.first("group-joined")) {
    // Who is told to join the groups is not in them, unless it is said not to have helped.
    access.confidence = subject.log.seen("said-to-work") ? 0.65 : 0.45;
    access.evidence.push_back(show(subject, *joined, "the groups are named as the remedy"));
  }
  if (const Observation* video = member_of_video_alone(subject)) {
    access.confidence = std::max(access.confidence, 0.4);
    access.reasons.emplace_back(
        "rocminfo names the group video alone. On newer systems the nodes belong to the group "
        "render.");
    access.evidence.push_back(show(subject, *video, "in the group video"));
  }
  advise(subject, "render", access);
  access.alternatives = {
      {"driver-not-loaded", 0.25, "ls -l /dev/kfd; lsmod | grep amdgpu"},
      {"device-index", 0.1, "env | grep VISIBLE_DEVICES"},
  };
  return access;
}

}  // namespace

constinit const CauseRule device_permission_cause = {
    .id = "device-permission",
    .meaning = "The GPU's device nodes exist, but this user or this container may not open them.",
    .why =
        "/dev/kfd and /dev/dri/renderD* belong to the groups render and video. Tools that read "
        "/sys still show the GPU, so it looks present until the runtime starts. Inside a container "
        "the groups are numbers of the host, and a rootless container does not map them.",
    .fix = "Join the groups and log in again. Give a container the host's group numbers.",
    .explains =
        "gpu-hang crash-loop framework-bug missing-library app-bug device-index "
        "gpu-unsupported gpu-not-used",
    .find = find,
};

}  // namespace headroom::findings
