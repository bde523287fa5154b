// SPDX-License-Identifier: Apache-2.0
// gpu-unsupported: the compute driver refuses the chip by name, or it is of a generation that ROCm
// never ran on. The refusal may then read "Cannot allocate memory" or "out of resources".
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "facts/kernel_release.h"
#include "findings/advice.h"
#include "findings/causes/access.h"
#include "findings/causes/causes.h"
#include "findings/causes/wsl_runtime.h"

namespace headroom::findings {
namespace {

using knowledge::Support;
using logs::Observation;

// Whether KFD never supported the chip: those of GCN 1 and 2, and small ones of GCN 3.
bool never_in_kfd(std::string_view chip) {
  constexpr std::array chips = {"TAHITI", "PITCAIRN", "VERDE", "OLAND",   "HAINAN", "BONAIRE",
                                "KABINI", "MULLINS",  "TOPAZ", "CYPRESS", "BARTS",  "CAYMAN"};
  return std::find(chips.begin(), chips.end(), chip) != chips.end();
}

// Finds the name of a card from before ROCm: TeraScale, GCN 1 and 2.
std::string old_card(const LogSubject& subject) {
  static const RE2 old(
      R"((?i)(\bHD ?[2-8]\d{3}[MDG]?\b|\bR[579] ?(?:2[3-8]\d|3[3-7]\d|M2\d\d|M3\d\d)X?\b|Tahiti|Pitcairn|Curacao|Cape Verde|Oland|Hainan|Bonaire|Kabini|Mullins|FirePro [WVM]\d+|\bGCN ?1\b|gfx60\d))");
  std::string name;
  for (const std::string_view id : {"lspci-gpu", "gpu-name"}) {
    for (const Observation* one : subject.log.of(id)) {
      if (RE2::PartialMatch(one->text, old, &name)) return name;
    }
  }
  for (const SceneGpu& gpu : subject.scene.gpus) {
    if (RE2::PartialMatch(gpu.name, old, &name) || RE2::PartialMatch(gpu.gfx, old, &name)) {
      return name;
    }
  }
  return "";
}

// Returns an override with which some people run another chip's code on this one; empty if there is
// none.
std::string tried_override(const LogSubject& subject) {
  const knowledge::Target* target = subject.tables.target(subject.scene.gfx());
  if (target == nullptr || subject.scene.setting("HSA_OVERRIDE_GFX_VERSION") != nullptr) return "";
  for (const auto& [value, override] : target->overrides) {
    if (value != "*" && override.risk != knowledge::Risk::dangerous) return value;
  }
  return "";
}

void advise(const LogSubject& subject, Hypothesis& chip) {
  chip.fix = {
      sentence_with(
          "Use Vulkan, which does not need ROCm (llama.cpp, ollama and whisper.cpp support it)",
          step_to_vulkan(subject.scene.machine).text),
      sentence(
          "Or run on the CPU. No group, package or override changes what the driver supports.")};
  const std::string value = tried_override(subject);
  if (value.empty() || subject.log.seen("kfd-unsupported-chip")) return;
  chip.fix.back() = sentence("Or run on the CPU.");
  chip.fix.push_back(sentence_with(
      "Some people run another chip's code on it, at their own risk, if a build still "
      "includes that code",
      "export HSA_OVERRIDE_GFX_VERSION=" + value));
}

bool refused_by_kfd(const LogSubject& subject, Hypothesis& chip) {
  const Observation* refused = subject.log.first("kfd-unsupported-chip");
  if (refused == nullptr) return false;
  const std::string name(refused->value("chip"));
  const knowledge::Target* target = subject.tables.target(subject.scene.gfx());
  // If other kernels support the chip, the message says that this kernel is too old, or was built
  // without it.
  const bool served_elsewhere =
      name.empty() && target != nullptr && support_of(*target) != Support::unsupported;
  chip.confidence = never_in_kfd(name) ? 0.96 : !name.empty() ? 0.6 : served_elsewhere ? 0.5 : 0.85;
  chip.title =
      name.empty()
          ? fmt::format("The kernel's compute driver does not support {}", gpu_title(subject.scene))
          : fmt::format("The kernel's compute driver does not support this chip, {}", name);
  chip.reasons.emplace_back(
      "KFD refuses this chip by name. /dev/kfd still exists, but opening it fails because there is "
      "no GPU that KFD supports. Memory and groups are not the reason.");
  chip.evidence.push_back(show(subject, *refused, "the refusal"));
  if (const Observation* open = subject.log.first("kfd-refuses-process")) {
    chip.evidence.push_back(show(subject, *open, "what a program sees"));
  }
  if (served_elsewhere || (!name.empty() && !never_in_kfd(name))) {
    chip.alternatives.push_back({"kernel-too-old", 0.35, "a newer kernel: uname -r"});
  }
  return true;
}

bool too_old_by_name(const LogSubject& subject, Hypothesis& chip) {
  const std::string name = old_card(subject);
  const Observation* failed =
      subject.log.first_of({"kfd-refuses-process", "no-gpu-seen", "rocminfo-failed",
                            "module-not-loaded", "kernel-image-refused", "kfd-absent"});
  if (name.empty() || failed == nullptr || subject.scene.discrete_gpu() != nullptr) return false;
  chip.confidence = failed->id() == "kfd-refuses-process" ? 0.9 : 0.75;
  chip.title = fmt::format("{} is older than ROCm: no release ever supported it", name);
  chip.reasons.emplace_back("ROCm began with GCN 3 and Hawaii. This card has an earlier design.");
  chip.evidence.push_back(show(subject, *failed));
  return true;
}

// RDNA 4 came to WSL with ROCm 6.4.1 and Adrenalin 25.6.1 (ROCm/legacy-rocm-build#4471).
bool is_newer_than_wsls(const LogSubject& subject) {
  const facts::Text& rocm = subject.scene.rocm;
  const auto release = rocm ? facts::parse_kernel_version(*rocm) : std::nullopt;
  return release && subject.scene.gfx().starts_with("gfx12") &&
         facts::in_range(*release, {"0", "6.4.1"});
}

// WSL serves RDNA 3 and later alone (rocm.docs.amd.com: ROCm on Radeon and Ryzen, compatibility
// matrices for WSL, 6.1.3 to 7.2; ROCm/legacy-rocm-build issues 3402 and 5631).
bool not_in_wsl(const LogSubject& subject, Hypothesis& chip) {
  const Observation* failed =
      subject.log.first_of({"rocminfo-failed", "no-gpu-seen", "module-not-loaded"});
  const std::string gfx = subject.scene.gfx();
  if (failed == nullptr || platform_of(subject).platform != Platform::wsl) return false;
  const bool too_new = is_newer_than_wsls(subject);
  if (!too_new && !gfx.starts_with("gfx9") && !gfx.starts_with("gfx10") &&
      !gfx.starts_with("gfx8")) {
    return false;
  }
  if (subject.log.seen("agent-name")) return false;
  // Where no way to the GPU is there at all, that comes first, whatever the GPU.
  const bool no_way = !too_new && subject.log.seen("kfd-absent");
  chip.confidence = is_before_wsl(subject) ? 0.4 : no_way ? 0.6 : 0.78;
  chip.title = fmt::format("ROCm in WSL does not support {}", gpu_title(subject.scene));
  chip.reasons.emplace_back(
      too_new ? "AMD's runtime for WSL lists RDNA 4 from ROCm 6.4.1 on, with a driver of the same "
                "time on Windows."
              : "AMD's runtime for WSL supports RDNA 3 and later. Older GPUs work with ROCm on "
                "Linux itself.");
  chip.evidence = {show(subject, *failed), platform_of(subject).evidence};
  chip.alternatives.push_back(
      {"host-without-kfd", 0.2, "ls -l /dev/dxg; echo $HSA_ENABLE_DXG_DETECTION"});
  return true;
}

// rocminfo in WSL lists what Windows' driver offers, also GPUs that the runtime has no support for:
// the first work on one never ends, or dies.
bool listed_in_wsl_only(const LogSubject& subject, Hypothesis& chip) {
  const std::string gfx = subject.scene.gfx();
  const Observation* died =
      subject.log.first_of({"said-to-hang", "hang-told", "said-to-stop-responding", "segfault",
                            "aborted", "memory-access-fault", "hsa-exception"});
  if (died == nullptr || platform_of(subject).platform != Platform::wsl) return false;
  const bool listed = subject.log.any_of({"agent-name", "torch-sees-gpu"});
  const bool older = gfx.starts_with("gfx10") || gfx.starts_with("gfx9") || gfx.starts_with("gfx8");
  // The first copy to the GPU is the first work on it.
  const bool at_first_copy = died->id() != "segfault" && subject.log.seen("moved-to-gpu");
  if (!older || (!listed && !at_first_copy)) return false;
  chip.confidence = at_first_copy ? 0.72 : 0.45;
  chip.title =
      fmt::format("ROCm in WSL lists {}, and does not support it", gpu_title(subject.scene));
  chip.reasons.emplace_back(
      "AMD's runtime for WSL supports RDNA 3 and later. Windows' driver offers older GPUs as well, "
      "so tools show them. Older GPUs work with ROCm on Linux itself.");
  chip.evidence = {show(subject, *died), platform_of(subject).evidence};
  chip.alternatives.push_back({"rocm-version-mismatch", 0.2,
                               "the release of ROCm and of Windows' driver, against AMD's list for "
                               "WSL"});
  return true;
}

// Whether the target is of GCN 1 or 2, or an APU's of GCN 3: what current libraries were never
// built for. gfx803 was dropped later, which is another cause.
bool is_before_gfx803(std::string_view gfx) {
  if (!gfx.starts_with("gfx") || gfx.size() != 6) return false;
  return gfx[3] == '6' || gfx[3] == '7' || (gfx[3] == '8' && gfx != "gfx803" && gfx != "gfx805");
}

// ollama's list of what it is built for, where the chip is of a generation that nothing is built
// for.
const Observation* left_out_for_ever(const LogSubject& subject) {
  for (const char* id : {"ollama-target-listed", "ollama-target-refused"}) {
    for (const Observation* one : subject.log.of(id)) {
      if (is_before_gfx803(one->value("gfx"))) return one;
    }
  }
  return nullptr;
}

// ollama reads the target from KFD's list, takes none before gfx900 (RocmComputeMin of its
// gpu/amd_linux.go), and then says that there is no GPU.
const Observation* passed_over(const LogSubject& subject) {
  const Observation* lost = subject.log.last("no-gpu-seen");
  for (const Observation* one : subject.log.of("ollama-targets-found")) {
    const bool is_older =
        one->value("gfx").starts_with("gfx7") || one->value("gfx").starts_with("gfx8");
    if (is_older && lost != nullptr && lost->log == one->log && lost->line > one->line) return one;
  }
  return nullptr;
}

bool no_code_for_it(const LogSubject& subject, Hypothesis& chip) {
  const Observation* said = subject.log.first_of({"ollama-too-old", "ollama-gpu-unsupported"});
  if (said == nullptr) said = passed_over(subject);
  const Observation* left_out = left_out_for_ever(subject);
  if (said == nullptr) said = left_out;
  const Observation* failed =
      said != nullptr
          ? said
          : subject.log.first_of({"kernel-image-refused", "gpu-crash", "no-gpu-seen",
                                  "memory-in-use", "hsa-exception", "kfd-queue-warned"});
  const std::string gfx = said != nullptr ? std::string(said->value("gfx")) : subject.scene.gfx();
  const knowledge::Target* target = subject.tables.target(gfx);
  if (failed == nullptr || target == nullptr) return false;
  // A discrete card beside it may do the work.
  const SceneGpu* discrete = subject.scene.discrete_gpu();
  if (discrete != nullptr && discrete->gfx != gfx) return false;
  const Support support = support_of(*target);
  const bool too_old =
      said != nullptr && said->id() != "ollama-gpu-unsupported" && said != left_out;
  if (support == Support::dropped && too_old) {
    chip.confidence = 0.5;
  } else if (support == Support::unsupported) {
    // Here a library was loaded for the chip and died in the runtime; a refusal would have said so.
    const bool dies = failed->id() == "memory-in-use" || failed->id() == "hsa-exception" ||
                      failed->id() == "kfd-queue-warned";
    chip.confidence = too_old || left_out != nullptr ? 0.85 : said != nullptr || dies ? 0.6 : 0.5;
  } else {
    return false;
  }
  chip.title = fmt::format("ROCm does not support {} ({})", target->chip, gfx);
  chip.reasons.push_back(
      support == Support::dropped
          ? "Current releases include no code for it."
          : "No release of ROCm ever listed it, and nobody builds libraries for it.");
  chip.evidence.push_back(show(subject, *failed));
  if (support == Support::unsupported && failed->id() == "memory-in-use") {
    chip.reasons.emplace_back(
        "The runtime still starts on it, and crashes at the first real work.");
    chip.alternatives.push_back(
        {"device-permission", 0.3, "sudo ausearch -m avc -ts today | grep -E 'kfd|hsa_device'"});
  }
  chip.alternatives.push_back(
      {support == Support::dropped ? "gfx-target-dropped" : "gfx-target-missing", 0.4,
       "which targets the library includes: ls /opt/rocm/lib/rocblas/library | grep -o "
       "'gfx[0-9a-f]*' | sort -u"});
  return true;
}

// The framework names the oldest target that it takes, or a list of them, and this one is older
// than all that any release of it had.
bool below_the_least(const LogSubject& subject, Hypothesis& chip) {
  for (const Observation* refused : subject.log.of("tensorflow-target-ignored")) {
    std::string gfx(refused->value("gfx"));
    std::erase(gfx, ' ');
    if (!is_before_gfx803(gfx)) continue;
    const SceneGpu* discrete = subject.scene.discrete_gpu();
    if (discrete != nullptr && !discrete->gfx.empty() && discrete->gfx != gfx) continue;
    const std::string least(refused->value("least"));
    chip.confidence = least.empty() ? 0.8 : 0.88;
    chip.title = fmt::format("{} is older than every GPU that this framework supports", gfx);
    chip.reasons.push_back(
        least.empty()
            ? "No release of the framework was built for such an old chip."
            : fmt::format("It supports {} and later. The job continues on the CPU.", least));
    chip.evidence.push_back(show(subject, *refused, "the refusal"));
    chip.alternatives.push_back({"gfx-target-missing", 0.1, "rocminfo | grep -m2 gfx"});
    return true;
  }
  return false;
}

// A kernel of AMD's composable_kernel for the matrix cores refuses every problem on a GPU that has
// none: its checks ask for the target first (ROCm/composable_kernel: is_xdl_supported() of
// include/ck/host_utility/device_prop.hpp). Nothing builds that library for such a target.
bool lacks_matrix_cores(const LogSubject& subject, Hypothesis& chip) {
  const Observation* refused = subject.log.first("ck-kernel-refused");
  const knowledge::Target* target = subject.tables.target(subject.scene.gfx());
  if (refused == nullptr || target == nullptr) return false;
  const auto& without = target->without;
  if (std::find(without.begin(), without.end(), "composable_kernel") == without.end()) return false;
  chip.confidence = 0.75;
  chip.title = fmt::format("{} has no matrix cores, which this kernel computes with",
                           gpu_title(subject.scene));
  chip.reasons.push_back(fmt::format(
      "\"{}\" in the kernel's name stands for matrix instructions. {} does not have them, so that "
      "a build for it compiles, and then refuses every problem.",
      refused->value("unit"), target->gfx));
  chip.evidence = {show(subject, *refused, "the refusal")};
  chip.alternatives = {
      {"unsupported-option", 0.2, "the same job with PyTorch's own attention (sdpa, math)"}};
  return true;
}

// KFD refuses the process, and nothing of the kernel says why.
std::optional<Hypothesis> refused_without_a_word(const LogSubject& subject) {
  const Observation* open = subject.log.first("kfd-refuses-process");
  if (open == nullptr) return std::nullopt;
  Hypothesis chip;
  // ENOMEM without a message of the kernel most often means that KFD supports no GPU here.
  const bool is_usual =
      open->value("error") == "Cannot allocate memory" || open->value("number") == "ENOMEM";
  chip.confidence = is_usual ? 0.45 : 0.3;
  // That cannot be where the GPU is one that ROCm lists, so that KFD left it out for another
  // reason.
  constexpr double of_listed_gpu = 0.2;
  const knowledge::Target* target = subject.tables.target(subject.scene.gfx());
  if (target != nullptr && target->rocm_first && support_of(*target) != Support::dropped) {
    chip.confidence = of_listed_gpu;
  }
  chip.title = "KFD supports none of the GPUs here";
  chip.evidence.push_back(show(subject, *open));
  chip.alternatives = {
      {"pcie-atomics", 0.2, "sudo dmesg | grep -i kfd   (says why each GPU was left out)"},
      {"kernel-too-old", 0.15, "the same"}};
  return chip;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Hypothesis chip;
  if (lacks_matrix_cores(subject, chip)) {
    chip.fix = {
        sentence("Use an implementation without matrix cores: PyTorch's own "
                 "scaled_dot_product_attention, or one in Triton that lists the GPU.")};
    return chip;
  }
  if (!refused_by_kfd(subject, chip) && !below_the_least(subject, chip) &&
      !too_old_by_name(subject, chip) && !not_in_wsl(subject, chip) &&
      !listed_in_wsl_only(subject, chip) && !no_code_for_it(subject, chip)) {
    auto refused = refused_without_a_word(subject);
    if (!refused) return std::nullopt;
    chip = *std::move(refused);
  }
  advise(subject, chip);
  return chip;
}

}  // namespace

constinit const CauseRule gpu_unsupported_cause = {
    .id = "gpu-unsupported",
    .meaning = "ROCm, or the kernel's compute driver, does not support this GPU at all.",
    .why =
        "amdgpu drives every card for graphics, so the card looks fine. Compute support began with "
        "GCN 3, and for many chips it was dropped or never built. No setting changes that.",
    .fix = "Use Vulkan or the CPU. For ROCm you need another GPU.",
    .explains =
        "device-permission driver-not-loaded kfd-not-passed job-too-big gfx-target-missing "
        "framework-bug crash-loop gpu-hang gpu-not-used",
    .is_standing = true,
    .find = find,
};

}  // namespace headroom::findings
