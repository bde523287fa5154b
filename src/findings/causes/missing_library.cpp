// SPDX-License-Identifier: Apache-2.0
// missing-library: a shared library or a Python module is missing or not on the search path.
// Libraries of another ROCm are left to rocm-version-mismatch, those of CUDA to wrong-wheel.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/causes.h"
#include "findings/causes/gpu_code.h"
#include "findings/causes/isolated_build.h"
#include "findings/causes/libraries.h"
#include "findings/causes/package_parts.h"
#include "findings/causes/program_flow.h"
#include "findings/causes/raised_in.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

Hypothesis make(const LogSubject& subject, const Observation& seen, double confidence,
                std::string title) {
  Hypothesis missing;
  missing.confidence = confidence;
  missing.title = std::move(title);
  missing.evidence.push_back(show(subject, seen, logs::describe(seen)));
  return missing;
}

// The name without a version, which only the development package has: amd-smi and what is built on
// it open it (ROCm/amdsmi#142) and go on without.
bool is_name_for_developers(std::string_view library) {
  return library == "libdrm_amdgpu.so" || library == "libdrm.so";
}

bool is_only_trouble(const LogSubject& subject, const Observation& seen) {
  for (const Observation& one : subject.log.all()) {
    const auto role = one.signature->role;
    if (role != knowledge::Role::failure && role != knowledge::Role::consequence) continue;
    if (one.log != seen.log || (one.line != seen.line && one.id() != seen.id())) return false;
  }
  return true;
}

Hypothesis make_link_of_drm(const LogSubject& subject, const Observation& seen) {
  Hypothesis missing = make(subject, seen, is_only_trouble(subject, seen) ? 0.6 : 0.15,
                            "libdrm's library is missing under the name that amd-smi opens");
  missing.reasons.emplace_back(
      "The library itself exists as libdrm_amdgpu.so.1. Without the other name, tools that show "
      "the GPU's state lack some figures. Jobs on the GPU do not need it.");
  missing.fix = {command("headroom fix missing-library",
                         "(shows the link that it would create; --apply creates it)"),
                 sentence(fmt::format("If libdrm_amdgpu.so.1 is missing as well, install {}.",
                                      package_of_library("libdrm_amdgpu.so")))};
  return missing;
}

std::optional<Hypothesis> find_library(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  for (const Observation* seen : subject.log.of("shared-library-missing")) {
    const auto library = missing_library(*seen);
    if (!library || is_library_of_cuda(*library) || is_of_torch_for_rocm(*library)) continue;
    const auto major = rocm_major_of_library(*library);
    const bool told = subject.scene.rocm || subject.scene.torch_rocm;
    const bool in_doubt = major && !told && !was_current(*major, date_of(subject.log));
    const double confidence = in_doubt ? 0.5 : major && !told ? 0.75 : 0.88;
    if (is_name_for_developers(*library)) {
      if (!best) best = make_link_of_drm(subject, *seen);
      continue;
    }
    Hypothesis missing = make(subject, *seen, confidence, fmt::format("{} is missing", *library));
    missing.reasons.emplace_back(
        "The loader finds it in none of its folders, and the program ends before it uses the "
        "GPU.");
    missing.fix.push_back(
        sentence(fmt::format("See whether it exists at all: find / -name '{}*' 2>/dev/null",
                             library->substr(0, library->find(".so") + 3))));
    if (const auto package = package_of_library(*library); !package.empty()) {
      missing.fix.push_back(
          sentence(fmt::format("Install the package that contains it: {}", package)));
    }
    if (is_library_of_rocm(*library)) {
      missing.fix.push_back(
          sentence("If it does not exist, install the ROCm package that contains it, or a wheel "
                   "that has its own copy."));
      missing.fix.push_back(
          sentence("If it exists, tell the loader where: echo /opt/rocm/lib | sudo tee "
                   "/etc/ld.so.conf.d/rocm.conf && sudo ldconfig"));
      missing.alternatives = {{"rocm-version-mismatch",
                               major && !told ? (in_doubt ? 0.5 : 0.25) : 0.15,
                               "ls -d /opt/rocm*"}};
    }
    return missing;
  }
  return best;
}

std::optional<Hypothesis> find_module(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("module-missing")) {
    const std::string module(seen->value("module"));
    const std::string top(split(module, '.').front());
    if (top == "torchao" && top != module) continue;
    // A part of PyTorch's own extension, which a build either has or not: no package brings it.
    if (module.starts_with("torch._C.") && imports_undemanded(subject.log, *seen) != nullptr)
      continue;
    if (auto hidden = find_hidden_by_build(subject, *seen)) return hidden;
    const bool whole = module == top;
    const bool known = is_known_module(top);
    Hypothesis missing = make(subject, *seen,
                              known && whole ? 0.86
                              : known        ? 0.55
                                             : 0.5,
                              fmt::format("Python has no module {}", module));
    if (goes_on_after(subject.log, *seen)) missing.confidence *= 0.6;
    missing.reasons.push_back(
        whole ? "The package is not installed in the Python that runs the program."
              : fmt::format("The installed {} has no part with this name. The program needs "
                            "another release of it.",
                            top));
    missing.fix = {sentence_with("See which Python runs the program, and what it has",
                                 "which python; python -m pip list"),
                   command(fmt::format("python -m pip install {}", top), "(into that Python)")};
    if (top == "torch") {
      missing.fix.back() = sentence(
          "Install torch from the ROCm index given under \"Get started\" on pytorch.org: python -m "
          "pip install torch --index-url URL");
    }
    missing.alternatives = {{"app-bug", known ? 0.1 : 0.45, "ls   (is it a file of the program?)"}};
    return missing;
  }
  return std::nullopt;
}

// The loader's message was pasted without the library's name, or the traceback is cut off while
// PyTorch loads its libraries.
std::optional<Hypothesis> find_unnamed(const LogSubject& subject) {
  const Observation* loading = subject.log.first("loading-libraries");
  const Observation* unnamed = subject.log.first("shared-library-unnamed");
  const bool named = subject.log.any_of({"shared-library-missing", "bitsandbytes-library",
                                         "symbol-missing", "symbol-version-missing"});
  if (named || (unnamed == nullptr && loading == nullptr)) return std::nullopt;
  if (unnamed == nullptr && subject.log.seen("python-exception")) return std::nullopt;
  const Observation& seen = unnamed != nullptr ? *unnamed : *loading;
  const double confidence = unnamed == nullptr ? 0.4 : loading != nullptr ? 0.65 : 0.6;
  Hypothesis missing =
      make(subject, seen, confidence, "A shared library is missing, and the log does not name it");
  missing.reasons.emplace_back(
      unnamed != nullptr
          ? "The loader did not find a file. Its name is cut off here."
          : "The log ends while PyTorch loads its libraries, and that is where it failed.");
  if (unnamed != nullptr && loading != nullptr) {
    missing.evidence.push_back(show(subject, *loading, logs::describe(*loading)));
  }
  missing.fix = {command("python -c 'import torch'", "(the last line names the library)"),
                 sentence("See what else is missing, here and in the file that the traceback "
                          "names: ldd PATH/torch/lib/libtorch_global_deps.so | grep 'not found'")};
  missing.alternatives = {
      {"rocm-version-mismatch", 0.3, "the number behind \".so.\" in that line"}};
  return missing;
}

// vLLM takes the ROCm platform only if amdsmi can be imported and names a GPU.
std::optional<Hypothesis> find_platform_module(const LogSubject& subject) {
  const Observation* refused = nullptr;
  for (const Observation* seen : subject.log.of("rocm-platform-refused")) {
    if (!seen->value("module").empty() || !seen->value("also").empty()) refused = seen;
  }
  const Observation* undetected = subject.log.first("no-platform");
  const Observation* hint = subject.log.first("vllm-without-amdsmi");
  const bool for_rocm = subject.scene.torch_rocm.known();
  const Observation* seen = refused != nullptr ? refused : undetected;
  if (seen == nullptr || (refused == nullptr && hint == nullptr && !for_rocm)) return std::nullopt;
  std::string module = refused == nullptr ? "amdsmi" : std::string(refused->value("module"));
  if (module.empty()) module = refused->value("also");
  const double confidence = refused != nullptr ? 0.92 : hint != nullptr ? 0.75 : 0.5;
  Hypothesis missing =
      make(subject, *seen, confidence,
           fmt::format("vLLM does not see the GPU: Python has no module {}", module));
  missing.reasons.push_back(
      fmt::format("vLLM uses {} to find AMD GPUs. Without it no platform is left. The lines about "
                  "other vendors' modules do not matter here.",
                  module));
  if (hint != nullptr) missing.evidence.push_back(show(subject, *hint));
  missing.fix = {command("python -m pip install /opt/rocm/share/amd_smi",
                         "(the module that matches the installed ROCm)"),
                 command("python -c \"import amdsmi; amdsmi.amdsmi_init(); "
                         "print(amdsmi.amdsmi_get_processor_handles())\"")};
  missing.alternatives = {
      {"wrong-wheel", refused != nullptr ? 0.05 : 0.35,
       "VLLM_LOGGING_LEVEL=DEBUG vllm --version (shows why each platform is rejected)"}};
  return missing;
}

// The runtime opens some of its own libraries only when it needs them, so the loader does not
// complain at the program's start: comgr and hiprtc compile and link kernels.
std::optional<Hypothesis> find_runtime_part(const LogSubject& subject) {
  const Observation* seen = nullptr;
  for (const Observation* one : subject.log.of("runtime-part-missing")) {
    if (seen == nullptr || seen->value("part").empty()) seen = one;
  }
  if (seen == nullptr || subject.log.seen("shared-library-missing")) return std::nullopt;
  std::string part = to_lower(seen->value("part"));
  if (part.empty() || part == "comgr" || part == "amd_comgr") part = "libamd_comgr";
  if (part.starts_with("hiprtc")) part = "lib" + part;
  const bool windows = seen->text.find(".dll") != std::string::npos;
  Hypothesis missing =
      make(subject, *seen, 0.82, fmt::format("ROCm's runtime does not find {}", part));
  missing.reasons.emplace_back(
      "The runtime opens this library itself when it starts a device. Without it no device is "
      "usable, and programs say that there is no GPU, although rocminfo lists it.");
  missing.fix = {
      windows ? sentence("Put the library of the same release beside amdhip64.")
              : sentence_with("See whether it exists at all",
                              fmt::format("find / -name '{}*' 2>/dev/null; ldconfig -p | grep {}",
                                          part, part)),
      sentence("If it does not exist, install its package: comgr (Debian, Ubuntu, openSUSE: "
               "comgr or libamd-comgr; Fedora: rocm-comgr; Arch: comgr or rocm-llvm), hip-runtime "
               "for hiprtc. A bundle that has its own ROCm has to contain it."),
      sentence("If it exists, tell the loader where: export LD_LIBRARY_PATH=/opt/rocm/lib")};
  missing.alternatives = {{"rocm-version-mismatch", 0.15, "ls -d /opt/rocm*"}};
  return missing;
}

// rocBLAS without its folder of kernels, which a package or a bundle has left out.
std::optional<Hypothesis> find_kernel_folder(const LogSubject& subject) {
  const Observation* seen = subject.log.first("tensile-missing");
  if (seen == nullptr || !has_no_kernels_at_all(*seen)) return std::nullopt;
  Hypothesis missing =
      make(subject, *seen, 0.78, "rocBLAS was installed without its folder of kernels");
  missing.reasons.emplace_back(
      "rocBLAS lists the kernel files that it finds, and there are none for any GPU. So the GPU "
      "is not the problem.");
  missing.fix = {
      sentence("Put the folder rocblas/library of the same release beside the library, or install "
               "the package that contains both."),
      sentence_with("If the folder is elsewhere, name it",
                    "export ROCBLAS_TENSILE_LIBPATH=/path/to/rocblas/library")};
  missing.alternatives = {{"gfx-target-missing", 0.2,
                           "list the folder that the message names: does it have any .dat file?"}};
  return missing;
}

// rocBLAS looks for its kernels beside the path by which it was loaded. A link or an old folder in
// LD_LIBRARY_PATH makes that another place than the one with the files.
std::optional<Hypothesis> find_displaced_kernels(const LogSubject& subject) {
  const Observation* seen = subject.log.first("tensile-missing");
  if (seen == nullptr || !looks_in_wrong_folder(subject, *seen)) return std::nullopt;
  Hypothesis missing =
      make(subject, *seen, 0.75, "rocBLAS looks for its kernels in a wrong folder");
  missing.reasons.emplace_back(
      "Every release of rocBLAS brings kernels for this GPU. It looks for them beside the path by "
      "which it was loaded, and nothing is there.");
  missing.fix = {sentence_with("See where they are",
                               "find / -name 'TensileLibrary*.dat' 2>/dev/null | head -3"),
                 sentence_with("Name that folder",
                               "export ROCBLAS_TENSILE_LIBPATH=/opt/rocm/lib/rocblas/library"),
                 sentence("Take folders of old releases, such as /opt/rocm/rocblas/lib, out of "
                          "LD_LIBRARY_PATH.")};
  missing.alternatives = {
      {"gfx-target-missing", 0.2, "ls /opt/rocm/lib/rocblas/library | grep gfx"}};
  return missing;
}

std::optional<Hypothesis> find_other(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("symbol-version-missing")) {
    const auto version = seen->value("version");
    const bool compiler = version.starts_with("GLIBC") || version.starts_with("CXXABI");
    if (!compiler) continue;
    Hypothesis missing =
        make(subject, *seen, 0.82,
             fmt::format("A system library is too old: it does not have {}", version));
    missing.reasons.emplace_back("The program was built on a newer distribution.");
    missing.fix = {
        sentence("In conda: conda install -c conda-forge libstdcxx-ng"),
        sentence("Otherwise use a container or a distribution that is as new as the program.")};
    return missing;
  }
  if (const Observation* seen = subject.log.first("rocm-development-missing")) {
    Hypothesis missing = make(subject, *seen, 0.75, "A developer package of ROCm is missing");
    missing.reasons.emplace_back("Compilers and headers are in separate packages.");
    missing.fix = {
        sentence_with("See what is installed", "ls -d /opt/rocm*; command -v hipcc"),
        sentence("Install them: sudo apt install rocm-hip-sdk (dnf and zypper have the same name). "
                 "From ROCm 7.14 on the package names contain release and target, for example "
                 "amdrocm-core-sdk10.0-gfx1100"),
        sentence(
            "If ROCm is installed elsewhere: export ROCM_PATH=/opt/rocm PATH=/opt/rocm/bin:$PATH")};
    return missing;
  }
  if (const Observation* seen = subject.log.first("rocm-package-unmet")) {
    Hypothesis missing =
        make(subject, *seen, 0.6,
             fmt::format("ROCm's packages need {}, which this system does not offer",
                         seen->value("needs")));
    missing.reasons.emplace_back(
        "Each ROCm package is built for one release of a distribution. On another one its "
        "dependencies are missing.");
    missing.fix = {
        sentence_with("See whether the repository is for this release of the distribution",
                      "cat /etc/os-release; apt-cache policy rocm-core"),
        sentence("Use AMD's repository for this release, or a container. PyTorch's wheels do not "
                 "need ROCm on the system.")};
    missing.alternatives = {{"rocm-version-mismatch", 0.3, "apt-cache policy rocm-core"}};
    return missing;
  }
  if (const Observation* seen = subject.log.first("windows-library-missing")) {
    Hypothesis missing =
        make(subject, *seen, 0.75, "A DLL, or another DLL that it needs, is missing");
    missing.reasons.emplace_back(
        "Windows names the library that it loads, not the one that is missing.");
    missing.fix = {
        sentence("Install the Visual C++ runtime: winget install Microsoft.VCRedist.2015+.x64"),
        sentence("Install torch, torchvision and torchaudio again, all from one index.")};
    missing.alternatives = {{"rocm-version-mismatch", 0.2, "pip list"}};
    return missing;
  }
  return std::nullopt;
}

// A header that no package brought. Those of CUDA are looked for by sources that were not converted
// to HIP, which no package mends.
std::optional<Hypothesis> find_header(const LogSubject& subject) {
  static const RE2 of_rocm(R"((?:^|/)(?:hip|roc\w*|hsa|thrust|cub|miopen|rccl|amd_comgr)\w*/)");
  static const RE2 of_cuda(R"((?:^|/)(?:cuda|cublas|cudnn|cufft|curand|cusparse)\w*\.)");
  const Observation* seen = subject.log.first("header-missing");
  if (seen == nullptr) return std::nullopt;
  const std::string header(seen->value("header"));
  const bool cuda = RE2::PartialMatch(header, of_cuda);
  // Any other header may be a file of the program's own.
  if (!cuda && !RE2::PartialMatch(header, of_rocm)) return std::nullopt;
  Hypothesis missing =
      make(subject, *seen, cuda ? 0.45 : 0.75, fmt::format("{} is missing", header));
  missing.reasons.emplace_back(
      cuda ? "It belongs to CUDA. A build for AMD GPUs converts its sources first, and uses HIP's "
             "header instead."
           : "The compiler finds it in none of its folders. The developer package that contains it "
             "is not installed, or belongs to another release.");
  missing.fix = {
      sentence(fmt::format(
          "See whether it exists: find /opt/rocm* /usr/include -path '*{}' 2>/dev/null", header)),
      sentence(cuda ? "Convert the sources (PyTorch: python tools/amd_build/build_amd.py), or "
                      "build with the project's option for ROCm."
                    : "If it does not exist, install the -dev package of its library for the ROCm "
                      "in use. If it does: export CPLUS_INCLUDE_PATH=/opt/rocm/include")};
  missing.alternatives = {{"rocm-version-mismatch", 0.25, "ls -d /opt/rocm*"},
                          {"app-bug", 0.15, ""}};
  return missing;
}

// koboldcpp learns what GPU there is from other programs (koboldcpp.py: fetch_gpu_properties).
std::optional<Hypothesis> find_tool(const LogSubject& subject) {
  const Observation* blind = subject.log.first("kobold-sees-no-gpu");
  const Observation* tool = subject.log.first("tool-missing");
  if (blind == nullptr || tool == nullptr) return std::nullopt;
  Hypothesis missing = make(
      subject, *tool, 0.6,
      fmt::format("{} is not installed, which the program asks for the GPU", tool->value("tool")));
  missing.reasons.emplace_back(
      "The program starts this tool to see which GPU there is. Without it, it takes the CPU.");
  missing.evidence.push_back(show(subject, *blind, logs::describe(*blind)));
  missing.fix = {sentence("Install the tool and Vulkan's loader and driver: vulkan-tools, "
                          "vulkan-icd-loader or libvulkan1, vulkan-radeon or mesa-vulkan-drivers."),
                 look("vulkaninfo --summary", "(must list the card)"),
                 sentence("Or choose back-end and layers by hand: --usevulkan --gpulayers 99")};
  missing.alternatives = {{"backend-unavailable", 0.25, "--help: which back-ends this build has"}};
  return missing;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  for (auto* search : {find_library, find_module, find_platform_module, find_unnamed,
                       find_runtime_part, find_kernel_folder, find_displaced_kernels, find_other,
                       find_header, find_tool, find_torn_package, find_silent_end}) {
    auto found = search(subject);
    if (found && (!best || found->confidence > best->confidence)) best = std::move(found);
  }
  return best;
}

}  // namespace

constinit const CauseRule missing_library_cause = {
    .id = "missing-library",
    .meaning = "A shared library or a Python module is missing, or not on the search path.",
    .why = "The program ends while it loads, before it uses the GPU.",
    .fix = "Install the package that contains it, or tell the loader where it is.",
    .explains = "app-bug crash-loop framework-bug gpu-not-used",
    .find = find,
};

}  // namespace headroom::findings
