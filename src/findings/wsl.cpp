// SPDX-License-Identifier: Apache-2.0
// WSL: how far the way to the GPU goes, from Windows's driver over /dev/dxg, libdxcore.so and
// librocdxg.so to the runtime that jobs load. The first thing that lacks is the cause, because what
// comes after it cannot work; that KFD and amdgpu are absent is normal there.
#include <fmt/format.h>

#include "findings/rules.h"
#include "findings/wsl_way.h"

namespace headroom::findings {
namespace {

using facts::DxgRoute;
using facts::Wsl;
using facts::WslKind;

constexpr const char* rocdxg_releases = "https://github.com/ROCm/librocdxg/releases";

Finding make(std::string id, double confidence, std::string title) {
  Finding finding;
  finding.id = std::move(id);
  finding.severity = Severity::error;
  finding.title = std::move(title);
  finding.claim = Claim{Verdict::broken, confidence, {}};
  finding.next = NextCommand::check();
  return finding;
}

Evidence show_kind(const Wsl& wsl) {
  return {wsl.source.path, wsl.source.line, wsl.source.text,
          wsl.kind == WslKind::wsl1 ? "this is WSL 1" : "this is WSL 2"};
}

Finding first_generation(const Wsl& wsl) {
  Finding finding = make("host-without-kfd", 0.95, "WSL 1 has no devices, so it has no GPU either");
  finding.reasons = {
      "WSL 1 translates Linux system calls to Windows. It has no Linux kernel and no /dev/dxg. "
      "Only WSL 2 can reach a GPU."};
  finding.evidence = {show_kind(wsl)};
  finding.fix = {
      sentence("In PowerShell on Windows: wsl --list --verbose   (shows the distribution's name)"),
      sentence("In PowerShell on Windows: wsl --set-version NAME 2   (converts it; takes minutes)"),
      sentence("Then, inside WSL again: headroom check")};
  return finding;
}

Finding without_device(const Wsl& wsl, const facts::MachineFacts& machine) {
  if (machine.in_container()) {
    Finding finding =
        make("kfd-not-passed", 0.9,
             "this container was not given /dev/dxg, which WSL needs to reach the GPU");
    finding.reasons = {
        "WSL has no /dev/kfd. A container in WSL needs /dev/dxg and the two libraries that use "
        "it."};
    finding.evidence = {show_kind(wsl),
                        show(machine.container, "this is a " + *machine.container + " container"),
                        {"/dev/dxg", 0, "not there", "the container has no node for it"}};
    finding.fix = {sentence(fmt::format(
        "In WSL: {} run --device /dev/dxg -v /usr/lib/wsl/lib/libdxcore.so:/usr/lib/libdxcore.so "
        "-v /opt/rocm/lib/librocdxg.so:/usr/lib/librocdxg.so -e HSA_ENABLE_DXG_DETECTION=1 …",
        *machine.container == "podman" ? "podman" : "docker"))};
    return finding;
  }
  Finding finding =
      make("host-without-kfd", 0.85, "Windows gives WSL no GPU: there is no /dev/dxg");
  finding.reasons = {
      "Windows gives a GPU to WSL's virtual machine if the display driver supports that and "
      ".wslconfig does not forbid it."};
  finding.evidence = {show_kind(wsl), {"/dev/dxg", 0, "not there", "Windows shares no GPU"}};
  finding.fix = {
      sentence("In PowerShell on Windows: wsl --update; wsl --shutdown"),
      sentence(
          "On Windows, make sure that %UserProfile%\\.wslconfig does not set gpuSupport=false."),
      sentence("On Windows, install AMD's current Adrenalin driver, then restart Windows."),
      sentence("Then, inside WSL again: ls -l /dev/dxg; headroom check")};
  return finding;
}

std::optional<Finding> refused_device(const Wsl& wsl) {
  if (!wsl.dxg_usable || *wsl.dxg_usable) return std::nullopt;
  Finding finding =
      make("device-permission", 0.9,
           "you do not have permission to open /dev/dxg, which WSL needs to reach the GPU");
  finding.evidence = {show_kind(wsl), {"/dev/dxg", 0, "no permission", "you may not open it"}};
  finding.fix = {command("ls -l /dev/dxg", "(WSL creates it for everybody: crw-rw-rw-)"),
                 command("sudo chmod 666 /dev/dxg"), command("headroom check")};
  return finding;
}

std::optional<Finding> without_windows_driver(const facts::Facts& facts) {
  const Wsl& wsl = facts.wsl;
  const bool looked =
      !wsl.windows_driver && wsl.windows_driver.missing().why == facts::Why::not_present;
  if (!looked || facts.machine.in_container()) return std::nullopt;
  Finding finding = make("host-without-kfd", 0.6, "Windows shares no AMD display driver with WSL");
  finding.reasons = {"/dev/dxg leads to the GPUs whose Windows drivers support WSL."};
  finding.evidence = {show_kind(wsl), show(wsl.windows_driver, "the drivers that Windows shares")};
  finding.fix = {
      sentence("On Windows, install AMD's current Adrenalin driver, then restart Windows."),
      sentence("In PowerShell on Windows: wsl --shutdown. Then, inside WSL: headroom check")};
  return finding;
}

// Whether the installed torch is built for the installed ROCm, by their first two numbers.
bool is_same_release(const facts::Facts& facts) {
  const facts::Text& built = facts.python.torch.rocm;
  const facts::Text& system = facts.machine.rocm;
  return built && system && (*system + ".").starts_with(*built + ".");
}

// PyTorch's own wheels bring a runtime that knows /dev/kfd alone, and it is loaded before the
// system's.
std::optional<Finding> runtime_without_dxg(const facts::Facts& facts) {
  const facts::HsaRuntime& runtime = runtime_of_jobs(facts);
  if (!runtime.route || *runtime.route != DxgRoute::none) return std::nullopt;
  const bool bundled = &runtime == &facts.wsl.bundled;
  Finding finding =
      make("rocm-version-mismatch", 0.88,
           bundled ? "the ROCm runtime in PyTorch's package does not support WSL's /dev/dxg"
                   : "the installed ROCm runtime does not support WSL's /dev/dxg");
  finding.reasons = {
      fmt::format("Jobs load {}. It looks for /dev/kfd, which WSL never has, and finds no GPU. "
                  "rocminfo may still work, with another copy.",
                  runtime.path)};
  finding.evidence = {show_kind(facts.wsl),
                      show(runtime.route, "a build that supports only /dev/kfd")};
  const bool system_knows = facts.wsl.system.route && *facts.wsl.system.route != DxgRoute::none;
  if (bundled && system_knows) {
    finding.evidence.push_back(show(facts.wsl.system.route, "the system's copy supports /dev/dxg"));
  }
  if (bundled && system_knows && is_same_release(facts)) {
    finding.fix = {
        command(fmt::format("mv {0} {0}.without-dxg", runtime.path),
                "(then the system's copy of the same release is loaded)"),
        sentence("Or install the PyTorch wheels that AMD builds for WSL: headroom fix stack")};
  } else if (bundled) {
    finding.fix = {
        sentence("Install the PyTorch wheels that AMD builds for WSL: headroom fix stack")};
  } else {
    finding.fix = {
        sentence("Install ROCm 7.2.1 or later. Ubuntu's own packages libhsa-runtime64-1 and "
                 "libhsakmt1 are older and have to be removed: sudo apt remove libhsa-runtime64-1 "
                 "libhsakmt1")};
  }
  finding.fix.push_back(command("headroom check"));
  finding.next = NextCommand::stack();
  finding.claim->alternatives = {
      {"missing-library", 0.1, "LD_DEBUG=libs python3 -c 'import torch' 2>&1 | grep libhsa"}};
  return finding;
}

std::optional<Finding> library_missing(const Wsl& wsl, const facts::Text& library,
                                       std::string_view name, Step step) {
  if (library || library.missing().why != facts::Why::not_present) return std::nullopt;
  Finding finding =
      make("missing-library", 0.9,
           fmt::format("{} is missing, and ROCm needs it to reach the GPU in WSL", name));
  finding.evidence = {show_kind(wsl), show(library, "it is in none of the loader's folders")};
  finding.fix = {std::move(step), command("sudo ldconfig"), command("headroom check")};
  return finding;
}

std::optional<Finding> detection_off(const facts::Facts& facts) {
  if (!needs_dxg_detection(facts) || dxg_detection_is_on(facts)) return std::nullopt;
  Finding finding = make("host-without-kfd", facts.machine.live ? 0.85 : 0.6,
                         "ROCm does not look for WSL's GPU: HSA_ENABLE_DXG_DETECTION=1 is not set");
  finding.reasons = {
      "Before ROCm 7.13 the runtime tries /dev/dxg only if this variable is 1. Without it rocminfo "
      "says \"WSL environment detected\" and then that there are no GPUs."};
  finding.evidence = {
      show_kind(facts.wsl),
      show(rocm_of_jobs(facts), "this release needs the variable, as do all before 7.13")};
  finding.fix = {command("export HSA_ENABLE_DXG_DETECTION=1"),
                 command("echo 'export HSA_ENABLE_DXG_DETECTION=1' | sudo tee "
                         "/etc/profile.d/rocm-wsl.sh",
                         "(for every login)"),
                 command("rocminfo | grep -A1 'Agent 2' || headroom check")};
  finding.claim->alternatives = {{"missing-library", 0.15, "ldconfig -p | grep rocdxg"}};
  return finding;
}

std::optional<Finding> other_build(const facts::Facts& facts) {
  const facts::Torch& torch = facts.python.torch;
  const bool other = torch.kind && *torch.kind != facts::TorchKind::rocm;
  if (!other || !facts.wsl.windows_driver) return std::nullopt;
  const bool cuda = *torch.kind == facts::TorchKind::cuda;
  Finding finding = make("wrong-wheel", 0.8,
                         fmt::format("the installed PyTorch is built for {}, not for ROCm",
                                     cuda ? "CUDA" : "the CPU"));
  finding.evidence = {
      show(torch.kind, cuda ? "a build for CUDA" : "it contains neither HIP nor CUDA"),
      show(facts.wsl.windows_driver, "Windows has an AMD display driver")};
  finding.fix = {sentence("Install the wheels that AMD builds for WSL: headroom fix stack")};
  finding.next = NextCommand::stack();
  return finding;
}

Finding describe_normal(const Wsl& wsl) {
  Finding finding;
  finding.id = "wsl";
  finding.severity = Severity::info;
  finding.title =
      "WSL reaches the GPU through Windows, so headroom cannot read from inside which GPU it is, "
      "how full its memory is and who holds it";
  finding.reasons = {
      "WSL has no /dev/kfd, no amdgpu and no files of the GPU in /sys. This is normal. rocm-smi "
      "and amd-smi find nothing for the same reason."};
  finding.evidence = {show_kind(wsl),
                      {"/dev/dxg", 0, "there", "it leads to the GPUs of Windows"},
                      show(wsl.windows_driver, "AMD's display driver in Windows")};
  finding.fix = {
      command("rocminfo | grep -E 'Marketing Name|gfx'", "(which GPU it is)"),
      command("python3 -c \"import torch; print(torch.cuda.mem_get_info())\"",
              "(free and total bytes; about 2 GiB less free than on Windows is normal)"),
      sentence("On Windows: Task Manager, Performance, GPU   (shows the memory and who holds it)")};
  finding.next = NextCommand::check("--verbose");
  return finding;
}

std::vector<Finding> find(const Subject& subject) {
  const facts::Facts& facts = subject.facts;
  const Wsl& wsl = facts.wsl;
  // Hyper-V can also hand a whole GPU to a kernel of WSL, which then drives it as any Linux does.
  if (!wsl.is_wsl() || !facts.gpus.empty()) return {};
  if (wsl.kind == WslKind::wsl1) return {first_generation(wsl)};
  // A capture without /dev may simply lack this node too.
  if (!*wsl.dxg) {
    if (!facts.machine.dev_visible) return {};
    return {without_device(wsl, facts.machine)};
  }
  std::vector<Finding> findings;
  const auto add = [&](std::optional<Finding> finding) {
    if (finding) findings.push_back(*std::move(finding));
  };
  add(refused_device(wsl));
  if (uses_amd(facts)) {
    add(without_windows_driver(facts));
    add(other_build(facts));
    add(runtime_without_dxg(facts));
    add(library_missing(wsl, wsl.dxcore, "libdxcore.so",
                        sentence("In PowerShell on Windows: wsl --update; wsl --shutdown")));
    if (by_rocdxg(facts)) {
      add(library_missing(wsl, wsl.rocdxg, "librocdxg.so",
                          sentence(fmt::format("Install its package from {}, or build it as its "
                                               "README says",
                                               rocdxg_releases))));
    }
    add(detection_off(facts));
    if (findings.empty()) findings.push_back(describe_normal(wsl));
  }
  return findings;
}

}  // namespace

constinit const Rule wsl_rule = {
    .id = "wsl",
    .meaning =
        "This is the Windows Subsystem for Linux (WSL), which reaches the GPU through Windows.",
    .why =
        "There is no /dev/kfd, no amdgpu, and nothing in /sys about the GPU. This is normal. Jobs "
        "need WSL 2, /dev/dxg, libdxcore.so, librocdxg.so, and a ROCm runtime that supports them. "
        "Many wheels contain a runtime that does not. Whatever is missing is reported as "
        "host-without-kfd, kfd-not-passed, device-permission, missing-library, "
        "rocm-version-mismatch or wrong-wheel.",
    .fix =
        "Install the current Adrenalin driver on Windows, ROCm 7.2.1 or later with librocdxg, and "
        "AMD's wheels. Before ROCm 7.13 also set HSA_ENABLE_DXG_DETECTION=1.",
    .find = find,
};

}  // namespace headroom::findings
