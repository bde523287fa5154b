// SPDX-License-Identifier: Apache-2.0
// host-without-kfd: the engine is asked for /dev/kfd, but its own system has none. Docker Desktop's
// engine is a virtual machine, also on Linux; Windows and macOS have no KFD at all.
#include <fmt/format.h>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/recovery.h"
#include "findings/causes/release_comparison.h"
#include "findings/causes/wsl_runtime.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::string_view name_of(Platform platform) {
  switch (platform) {
    case Platform::wsl:
      return "the Windows Subsystem for Linux";
    case Platform::windows:
      return "Windows";
    case Platform::mac:
      return "macOS";
    case Platform::desktop_vm:
      return "the virtual machine of Docker Desktop";
    case Platform::native:
      break;
  }
  return "the system that the engine runs on";
}

void advise(Platform platform, Hypothesis& host) {
  if (platform == Platform::wsl) {
    host.fix = {
        sentence_with("Before ROCm 7.13, set this variable and run rocminfo again",
                      "export HSA_ENABLE_DXG_DETECTION=1"),
        sentence("Check that librocdxg is installed: ldconfig -p | grep rocdxg. If not, install "
                 "its package from https://github.com/ROCm/librocdxg/releases"),
        sentence("Check that /dev/dxg exists, through which WSL reaches the GPU. It needs AMD's "
                 "driver for WSL on Windows and a GPU that this driver supports: ls -l /dev/dxg"),
        sentence("A container in WSL needs it too: docker run --device /dev/dxg -v "
                 "/usr/lib/wsl/lib/libdxcore.so:/usr/lib/libdxcore.so …"),
        sentence("Or boot Linux itself.")};
  } else if (platform == Platform::windows || platform == Platform::mac) {
    host.fix = {
        sentence("ROCm's containers need Linux: boot it."),
        sentence(
            platform == Platform::windows
                ? "Or run without a container: PyTorch's wheels for ROCm on Windows, or Vulkan."
                : "Or use Metal. There is no ROCm for macOS.")};
  } else {
    host.fix = {sentence_with("See which engine is in use; the star marks it", "docker context ls"),
                command("docker context use default"),
                command("sudo systemctl enable --now docker", "(the host's own engine)"),
                sentence(pass_devices_command("docker"))};
    if (platform == Platform::native) {
      host.fix.push_back(
          sentence("If the host has no /dev/kfd either: sudo modprobe amdgpu; sudo dmesg | grep "
                   "-iE 'amdgpu|kfd'"));
    }
  }
}

// The host's own kernel cannot have the node, whatever is passed on.
Hypothesis built_without(const LogSubject& subject, const Observation& configured) {
  Hypothesis host;
  host.confidence = 0.93;
  host.title = "The kernel is built without AMD's compute driver, so there is no /dev/kfd";
  host.reasons.emplace_back(
      "amdgpu drives the display. /dev/kfd comes from amdkfd, which is part of it only with "
      "CONFIG_HSA_AMD.");
  host.evidence.push_back(show(subject, configured, logs::describe(configured)));
  if (const Observation* lost = subject.log.first("kfd-absent")) {
    host.evidence.push_back(show(subject, *lost));
  }
  host.fix = {sentence("Boot a kernel with CONFIG_HSA_AMD=y: the distribution's own, or a newer "
                       "release of a minimal one."),
              sentence("Then check it: zcat /proc/config.gz | grep HSA_AMD; ls -l /dev/kfd")};
  return host;
}

// Systems that are made for one purpose, whose kernels are built without amdkfd or without amdgpu:
// home-assistant/operating-system issue 3608.
std::string_view appliance_of(const Scene& scene) {
  struct Appliance {
    std::string_view word, name;
  };
  constexpr Appliance appliances[] = {{"home assistant", "Home Assistant OS"},
                                      {"haos", "Home Assistant OS"}};
  for (const facts::Text* text : {&scene.machine.distribution, &scene.machine.container}) {
    if (!*text) continue;
    const std::string lower = to_lower(**text);
    for (const Appliance& one : appliances) {
      if (lower.find(one.word) != std::string::npos) return one.name;
    }
  }
  return "";
}

// No setting of the container helps where the host's kernel has nothing to give.
std::optional<Hypothesis> on_an_appliance(const LogSubject& subject) {
  const std::string_view name = appliance_of(subject.scene);
  const Observation* lost =
      subject.log.first_of({"module-not-loaded", "kfd-absent", "no-gpu-seen", "rocminfo-failed",
                            "ollama-on-cpu", "gpu-said-unused"});
  if (name.empty() || lost == nullptr || subject.log.seen("agent-name")) return std::nullopt;
  Hypothesis host;
  host.confidence = 0.7;
  host.title = fmt::format("{} has no compute driver for AMD GPUs, so there is no /dev/kfd", name);
  host.reasons.emplace_back(
      "Its kernel is built for its own purpose, without amdkfd. A container cannot bring a "
      "driver.");
  host.evidence = {show(subject, *lost)};
  host.fix = {sentence_with("On the host itself, look whether the node is there", "ls -l /dev/kfd"),
              sentence("If it is not: run the job on a distribution with CONFIG_HSA_AMD, and let "
                       "the appliance reach it over the network.")};
  host.alternatives = {{"kfd-not-passed", 0.3, "on the host: ls -l /dev/kfd"}};
  return host;
}

// The command names the node, and the node is missing all the same: an engine passes what the host
// has, and does not start where the host lacks it.
std::optional<Hypothesis> passed_and_missing(const LogSubject& subject) {
  const Observation* absent = kfd_absent(subject);
  const Observation* passes = passes_kfd(subject);
  const bool by_engine = passes != nullptr && passes->id() != "lxc-device-given";
  if (absent == nullptr || !by_engine || kfd_node(subject).line != nullptr) return std::nullopt;
  if (platform_of(subject).platform != Platform::native || subject.log.seen("agent-name")) {
    return std::nullopt;
  }
  Hypothesis host;
  host.confidence = 0.7;
  host.title = "The container is to get /dev/kfd, and the host has none";
  host.reasons.emplace_back(
      "The command passes the node, so it is not forgotten. An engine cannot pass what its host "
      "does not have.");
  host.evidence = {show(subject, *absent), show(subject, *passes, "passes the node")};
  advise(Platform::native, host);
  host.fix.insert(host.fix.begin(), look("ls -l /dev/kfd", "(on the host itself)"));
  host.fix.push_back(
      sentence("If it stays away, the host's kernel is built without CONFIG_HSA_AMD, as those of "
               "systems for one purpose often are: run the job on another distribution."));
  host.alternatives = {{"driver-not-loaded", 0.3, "on the host: lsmod | grep amdgpu"}};
  return host;
}

// A container engine did not find the node that it was to pass on.
void by_the_engine(const LogSubject& subject, const Observation& engine, const PlatformSign& sign,
                   const KfdNode& node, Hypothesis& host) {
  const bool below = !engine.value("below").empty();
  host.reasons.emplace_back(
      below ? "The host's own files, seen from a container, have no such node."
            : "The container engine looks for the node on the system where it runs, and does not "
              "find it.");
  host.evidence.push_back(show(subject, engine));
  host.confidence = sign.platform != Platform::native ? 0.92
                    : below                           ? 0.88  // Somebody looked at the host.
                    : node.line != nullptr            ? 0.85
                                                      : 0.6;
  if (node.line == nullptr) return;
  host.reasons.emplace_back("The host has /dev/kfd, so the engine does not run on the host.");
  host.evidence.push_back(show(subject, *node.line, "the host's own node"));
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  if (auto appliance = on_an_appliance(subject)) return appliance;
  if (const Observation* configured = subject.log.first("kernel-without-kfd")) {
    return built_without(subject, *configured);
  }
  const Observation* engine = subject.log.first("engine-lacks-kfd");
  if (engine == nullptr) {
    if (auto missing = passed_and_missing(subject)) return missing;
  }
  const PlatformSign sign = platform_of(subject);
  Hypothesis host;
  const KfdNode node = kfd_node(subject);
  if (engine != nullptr) {
    by_the_engine(subject, *engine, sign, node, host);
  } else {
    const Observation* lost =
        subject.log.first_of({"module-not-loaded", "kfd-absent", "no-gpu-seen", "rocminfo-failed"});
    const bool foreign =
        sign.platform == Platform::wsl || sign.platform == Platform::mac ||
        sign.platform == Platform::desktop_vm ||
        (sign.platform == Platform::windows && !container_engine(subject.scene).empty());
    if (lost == nullptr || !foreign) return std::nullopt;
    // The GPU was reached, so the way to it is there.
    const bool reached = subject.log.seen("agent-name") || is_reached_in_wsl(subject.log);
    if (sign.platform == Platform::wsl && reached) return std::nullopt;
    host.confidence = lost->id() == "no-gpu-seen" ? 0.55 : 0.75;
    // WSL's own runtime started and listed what it has, so /dev/kfd is not what it lacks.
    constexpr double of_its_own_runtime = 0.4;
    const bool runtime_works = subject.log.any_of({"rocminfo-done", "rocminfo-said-to-work"});
    if (sign.platform == Platform::wsl && runtime_works) {
      host.confidence = of_its_own_runtime;
    }
    if (sign.platform == Platform::wsl && is_before_wsl(subject)) {
      host.confidence = 0.85;
      host.reasons.push_back(fmt::format(
          "ROCm {} is older than AMD's first release for WSL, and reaches a GPU by /dev/kfd alone.",
          *subject.scene.rocm));
    }
    if (const Observation* first = subject.log.first("wsl-1")) {
      host.confidence = confidence::proven;
      host.reasons.emplace_back("WSL 1 has no devices, so no program in it can reach a GPU.");
      host.evidence.push_back(show(subject, *first));
      host.fix = {sentence("In PowerShell on Windows: wsl --set-version NAME 2")};
    }
    if (const Observation* upgraded = rocm_upgrade_told(subject)) {
      speak_against(host, 0.4, show(subject, *upgraded, "before that, the GPU worked here"));
    }
    host.reasons.push_back(
        fmt::format("{} does not have Linux's compute driver, so there is no /dev/kfd.",
                    name_of(sign.platform)));
    host.evidence.push_back(show(subject, *lost));
  }
  if (sign.platform != Platform::native) host.evidence.push_back(sign.evidence);
  const bool elsewhere = sign.platform == Platform::native && node.line != nullptr;
  host.title = elsewhere ? "The container engine runs on a different system than this one, without "
                           "/dev/kfd"
                         : fmt::format("There is no /dev/kfd in {}", name_of(sign.platform));
  if (sign.platform == Platform::native && !elsewhere) {
    host.alternatives.push_back({"driver-not-loaded", 0.35,
                                 "on the host: ls -l /dev/kfd; lsmod | "
                                 "grep amdgpu"});
  }
  if (host.fix.empty()) advise(elsewhere ? Platform::desktop_vm : sign.platform, host);
  return host;
}

}  // namespace

constinit const CauseRule host_without_kfd_cause = {
    .id = "host-without-kfd",
    .meaning = "The system that the container engine runs on has no /dev/kfd to pass on.",
    .why =
        "Docker Desktop's engine runs in a virtual machine, even on Linux. Windows and macOS do "
        "not have Linux's compute driver, and WSL reaches the GPU in another way.",
    .fix = "Use the engine of a Linux host that drives the GPU itself.",
    .explains = "kfd-not-passed driver-not-loaded device-permission crash-loop gpu-not-used",
    .find = find,
};

}  // namespace headroom::findings
