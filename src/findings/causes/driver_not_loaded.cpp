// SPDX-License-Identifier: Apache-2.0
// driver-not-loaded: the kernel module amdgpu is missing, or gave the GPU up. Most programs only
// say that it is missing; modprobe, DKMS, the kernel's log or lspci say why.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "findings/advice.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/recovery.h"
#include "findings/causes/unbound_gpu.h"

namespace headroom::findings {
namespace {

using logs::Observation;

bool unsigned_module(const LogSubject& subject, Hypothesis& driver) {
  const Observation* key = subject.log.first("module-unsigned");
  if (key == nullptr) return false;
  const Observation* context =
      subject.log.first_of({"modprobe-failed", "dkms-failed", "module-not-loaded"});
  driver.confidence = context != nullptr ? confidence::proven : 0.7;
  driver.title = "Secure Boot refuses the module amdgpu: it is not signed with a trusted key";
  driver.evidence.push_back(show(subject, *key));
  if (context != nullptr) driver.evidence.push_back(show(subject, *context));
  driver.fix = {look("mokutil --sb-state", "(Secure Boot is the reason if it says enabled)"),
                command("sudo mokutil --import /var/lib/shim-signed/mok/MOK.der",
                        "(DKMS's key; on other distributions /var/lib/dkms/mok.pub)"),
                sentence("Reboot, and choose \"Enroll MOK\"."),
                sentence("Or switch Secure Boot off in the BIOS. Or remove amdgpu-dkms and use the "
                         "kernel's own driver, which is signed."),
                command("sudo modprobe amdgpu && ls -l /dev/kfd")};
  return true;
}

// Whether the line names no module, and the lines around it another one than amdgpu's.
bool is_of_another_module(const logs::Observations& log, const Observation& dkms) {
  static const RE2 own(R"((?i)amdgpu|rock-dkms)");
  if (RE2::PartialMatch(dkms.text, own)) return false;
  constexpr std::uint64_t near = 4;
  bool other = false;
  for (const Observation* one : log.of("dkms-module-named")) {
    const bool is_near =
        one->log == dkms.log && one->line + near >= dkms.line && one->line <= dkms.line + near;
    if (!is_near) continue;
    if (RE2::PartialMatch(one->text, own)) return false;
    other = true;
  }
  return other;
}

bool build_failed(const LogSubject& subject, Hypothesis& driver) {
  const Observation* dkms = subject.log.first("dkms-failed");
  if (dkms == nullptr && gpu_not_seen(subject) != nullptr) dkms = subject.log.first("dkms-added");
  if (dkms == nullptr || is_of_another_module(subject.log, *dkms)) return false;
  // The kernel's own amdgpu may work although the DKMS one was not built.
  const bool works = subject.log.seen("agent-name") && !subject.log.seen("module-not-loaded");
  driver.confidence = works ? 0.4 : 0.88;
  std::string kernel;
  for (const Observation* one : subject.log.of("dkms-failed")) {
    for (const std::string_view key : {"built_on", "built_on_1"}) {
      if (!one->value(key).empty()) kernel = trim(one->value(key));
    }
  }
  driver.title = kernel.empty()
                     ? "The DKMS module amdgpu was not built for this kernel"
                     : fmt::format("The DKMS module amdgpu was not built for Linux {}", kernel);
  driver.reasons.emplace_back(
      "amdgpu-dkms is compiled for each kernel. This release does not compile for this kernel, or "
      "the kernel's headers are missing.");
  driver.evidence.push_back(show(subject, *dkms));
  driver.fix = {
      look("grep -n -m5 -iE 'error|No such file' /var/lib/dkms/amdgpu/*/build/make.log",
           "(why it was not built)"),
      command("sudo apt install \"linux-headers-$(uname -r)\"", "(if the headers are missing)"),
      sentence(
          "Boot a kernel that this release of amdgpu-dkms supports, or install a newer release."),
      sentence("Or use the kernel's own driver: run sudo amdgpu-install --uninstall, then install "
               "again with --no-dkms, and load it: sudo modprobe amdgpu && ls -l /dev/kfd")};
  return true;
}

// The compute driver that runs does not know a device, although the DKMS driver is installed, whose
// messages have another form: it was built for another kernel, and this one runs its own driver.
bool built_for_another_kernel(const LogSubject& subject, Hypothesis& driver) {
  const Observation* said = subject.log.first("kfd-device-missing");
  const Observation* source = subject.log.first("dkms-source-named");
  if (said == nullptr || source == nullptr) return false;
  driver.confidence = 0.78;
  driver.title = fmt::format("The kernel's own compute driver runs, not amdgpu-dkms {}",
                             source->value("release"));
  driver.reasons.emplace_back(
      "amdgpu-dkms is installed, and a driver that does not know the device answers. DKMS builds "
      "for one kernel at a time; the one that runs has none, or it was not loaded.");
  driver.evidence = {show(subject, *said), show(subject, *source, "the DKMS driver is there")};
  driver.fix = {look("dkms status", "(must say installed for the kernel of uname -r)"),
                command("sudo dkms autoinstall -k \"$(uname -r)\" && sudo reboot")};
  driver.alternatives = {{"kernel-too-old", 0.3, "dkms status; uname -r"}};
  return true;
}

bool switched_off(const LogSubject& subject, Hypothesis& driver) {
  const Observation* off = subject.log.first("modesetting-off");
  const Observation* lost = subject.log.first_of(
      {"module-not-loaded", "modprobe-failed", "no-gpu-seen", "rocminfo-failed", "kfd-absent"});
  if (off == nullptr) return false;
  driver.confidence = lost != nullptr || off->text.find("VGACON") != std::string::npos ? 0.92 : 0.5;
  driver.title = "An option keeps amdgpu from being loaded";
  driver.reasons.emplace_back(
      "With nomodeset or a blacklist, only the firmware's simple display driver runs. There is no "
      "amdgpu and no /dev/kfd.");
  driver.evidence.push_back(show(subject, *off));
  if (lost != nullptr) driver.evidence.push_back(show(subject, *lost));
  driver.fix = {
      look("grep -rn amdgpu /etc/modprobe.d; cat /proc/cmdline", "(where the option is set)"),
      sentence("Remove nomodeset or the blacklist (kernel command line: /etc/default/grub, then "
               "sudo update-grub or sudo grub2-mkconfig), and reboot.")};
  for (const Step& step : steps_to_rebuild_initramfs(subject.scene.machine)) {
    driver.fix.push_back(step);
  }
  return true;
}

bool bound_elsewhere(const LogSubject& subject, Hypothesis& driver) {
  // `lspci -k` prints a device, and within the next lines its driver.
  constexpr std::uint64_t lines_of_a_device = 6;
  const Observation* gpu = nullptr;
  for (const Observation& one : subject.log.all()) {
    if (one.id() == "lspci-gpu") gpu = &one;
    if (one.id() != "lspci-driver" || gpu == nullptr || one.log != gpu->log) continue;
    const std::string_view name = one.value("driver");
    const bool other = name == "vfio-pci" || name == "pci-stub" || name == "xen-pciback";
    if (!other || one.line - gpu->line > lines_of_a_device) continue;
    driver.confidence = 0.92;
    driver.title = fmt::format("The GPU is bound to {}, not to amdgpu", name);
    driver.reasons.emplace_back("It is reserved for a virtual machine.");
    driver.evidence = {show(subject, *gpu), show(subject, one, "the driver that has it")};
    driver.fix = {
        sentence("Use it inside that machine. Or give it back: remove its id from vfio-pci.ids on "
                 "the kernel command line and in /etc/modprobe.d, and reboot.")};
    for (const Step& step : steps_to_rebuild_initramfs(subject.scene.machine)) {
      driver.fix.push_back(step);
    }
    return true;
  }
  return false;
}

bool start_failed(const LogSubject& subject, Hypothesis& driver) {
  const Observation* file = subject.log.first("gpu-firmware-missing");
  const Observation* init = subject.log.first("gpu-init-failed");
  if (file == nullptr && init == nullptr) return false;
  // Some firmware files are optional.
  if (init == nullptr && gpu_not_seen(subject) == nullptr) return false;
  std::string name;
  for (const std::string_view key : {"file", "file2", "file3"}) {
    if (file != nullptr && name.empty()) name = file->value(key);
  }
  // A missing file points to the firmware first. That the driver gave up has many reasons.
  driver.confidence = file != nullptr ? 0.5 : 0.72;
  // The module is loaded; it is the card that does not answer it.
  if (subject.log.any_of({"vbios-stuck", "psp-ring-failed", "kernel-ring-test", "smu-stuck",
                          "kernel-vbios-absent", "kernel-discovery", "bar-resize-failed"})) {
    driver.confidence = 0.5;
  }
  driver.title = name.empty()
                     ? "amdgpu could not start the GPU and gave up"
                     : fmt::format("amdgpu cannot start the GPU: the firmware {} is missing", name);
  if (file != nullptr) driver.evidence.push_back(show(subject, *file));
  if (init != nullptr) driver.evidence.push_back(show(subject, *init));
  driver.fix = {sentence(
      "Install the distribution's newest linux-firmware (Debian: firmware-amd-graphics).")};
  for (const Step& step : steps_to_rebuild_initramfs(subject.scene.machine)) {
    driver.fix.push_back(step);
  }
  driver.alternatives = {{"kernel-too-old", 0.2, "uname -r, compared with the GPU's generation"},
                         {"firmware-bad", 0.2, "ls /lib/firmware/amdgpu"},
                         {"hw-error", 0.1, "sudo dmesg | grep -iE 'psp|vbios|pcie.*error'"}};
  return true;
}

bool not_there(const LogSubject& subject, Hypothesis& driver) {
  const Observation* probe = subject.log.first("modprobe-failed");
  const Observation* module = subject.log.first("module-not-loaded");
  if (module != nullptr && !is_failure(subject.log, *module)) module = nullptr;
  const Observation* absent =
      container_engine(subject.scene).empty() ? kfd_absent(subject) : nullptr;
  const Observation* sign = probe != nullptr ? probe : module != nullptr ? module : absent;
  if (sign == nullptr) return false;
  driver.confidence = probe != nullptr ? 0.9 : module != nullptr ? 0.8 : 0.55;
  // lshw names the driver of each device.
  const Observation* bound = subject.log.first("lshw-driver");
  const bool is_driven = bound != nullptr && bound->value("driver") == "amdgpu";
  if (is_driven) driver.confidence = std::min(driver.confidence, 0.3);
  // What the module itself prints shows that it is there, whatever a tool says of it.
  const bool speaks = subject.log.any_of(
      {"amdgpu-mailbox", "amdgpu-initialized", "ring-timeout", "gpu-reset", "driver-work-blocked"});
  if (speaks) driver.confidence = std::min(driver.confidence, 0.5);
  if (platform_of(subject).platform != Platform::native) driver.confidence = 0.25;
  driver.title = probe != nullptr    ? "The kernel refuses the module amdgpu"
                 : module != nullptr ? "The kernel module amdgpu is not loaded"
                                     : "There is no /dev/kfd: amdgpu does not drive any GPU here";
  driver.evidence.push_back(show(subject, *sign));
  driver.fix = {command("sudo modprobe amdgpu"),
                look("lspci -nnk | grep -A3 -E 'VGA|Display|3D|accel'",
                     "(is there an AMD GPU, and which driver has it?)"),
                look("sudo dmesg | grep -iE 'amdgpu|kfd|secure boot|lockdown'",
                     "(why the module did not load)"),
                look("dkms status; ls /lib/modules/\"$(uname -r)\"",
                     "(shows modules that are gone, or a DKMS module that was not built)")};
  driver.alternatives = {{"host-without-kfd", 0.15, "uname -r   (microsoft: it is WSL)"},
                         {"kernel-too-old", 0.15, "uname -r, compared with the GPU's generation"}};
  return true;
}

bool unbound(const LogSubject& subject, Hypothesis& driver) {
  const Observation* gpu = unbound_gpu(subject.log);
  if (gpu == nullptr) return false;
  driver.confidence = gpu_not_seen(subject) != nullptr ? 0.8 : 0.65;
  const bool is_lspci = gpu->id() == "lspci-gpu";
  driver.title = is_lspci ? "amdgpu is available, but does not drive the GPU"
                          : "No driver has the GPU: amdgpu is not loaded, or does not drive it";
  driver.reasons.emplace_back(
      is_lspci ? "lspci lists amdgpu as a module for it, but no driver in use. The module is not "
                 "loaded, does not know the chip, or gave up while starting."
               : "The GPU is on the bus without a driver. The module is not loaded, does not know "
                 "the chip, or gave up while starting.");
  driver.evidence.push_back(show(subject, *gpu, "no driver has it"));
  driver.fix = {command("sudo modprobe amdgpu"),
                look("sudo dmesg | grep -iE 'amdgpu|kfd|secure boot|lockdown'",
                     "(why it does not drive the GPU)"),
                look("uname -r", "(a kernel older than the GPU does not know it)")};
  driver.alternatives = {
      {"kernel-too-old", 0.3, "uname -r, compared with the GPU's generation"},
      {"bar-too-small", 0.1, "sudo dmesg | grep -E 'BAR [0-9]+.*(no space|failed to assign)'"}};
  return true;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Hypothesis driver;
  if (unsigned_module(subject, driver) || build_failed(subject, driver) ||
      built_for_another_kernel(subject, driver) || bound_elsewhere(subject, driver) ||
      switched_off(subject, driver) || start_failed(subject, driver) ||
      not_there(subject, driver) || unbound(subject, driver)) {
    return driver;
  }
  return std::nullopt;
}

}  // namespace

constinit const CauseRule driver_not_loaded_cause = {
    .id = "driver-not-loaded",
    .meaning = "The kernel module amdgpu is not loaded, or does not drive the GPU.",
    .why =
        "Without it there is no /dev/kfd and no render node, and every program just says that it "
        "finds no GPU. The usual reasons are Secure Boot with an unsigned module, a DKMS module "
        "that was not built for a new kernel, nomodeset or a blacklist, and missing firmware.",
    .fix = "Load it by hand, and read in the kernel's log why it fails.",
    .explains =
        "device-permission kfd-not-passed host-without-kfd framework-bug crash-loop app-bug "
        "device-index missing-library gpu-not-used",
    .find = find,
};

}  // namespace headroom::findings
