// SPDX-License-Identifier: Apache-2.0
// rocm-version-mismatch: a program needs a library or a symbol of another ROCm than the installed
// one. The number after ".so." names the major release for which a program was built.
#include <fmt/format.h>
#include <re2/re2.h>

#include <array>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/access.h"
#include "findings/causes/bitsandbytes.h"
#include "findings/causes/causes.h"
#include "findings/causes/failed_allocation.h"
#include "findings/causes/libraries.h"
#include "findings/causes/wsl_runtime.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::vector<facts::Text> releases_there(const Scene& scene) {
  std::vector<facts::Text> there;
  for (const facts::Text* one : {&scene.rocm, &scene.torch_rocm}) {
    if (*one) there.push_back(*one);
  }
  return there;
}

std::optional<std::uint64_t> major_of(std::string_view version) {
  return parse_u64(split(trim(version), '.').front());
}

Hypothesis make(const LogSubject& subject, const Observation& seen) {
  Hypothesis mismatch;
  mismatch.evidence.push_back(show(subject, seen, logs::describe(seen)));
  mismatch.fix = {sentence_with("See what is installed",
                                "ls -d /opt/rocm*; pip list | grep -iE 'torch|rocm|triton'"),
                  sentence("Use packages for one ROCm release only, all from one index. Rebuild "
                           "extensions against it.")};
  mismatch.alternatives = {
      {"missing-library", 0.2, "ldconfig -p | grep -E 'amdhip|rocblas|MIOpen'"}};
  return mismatch;
}

// Finds a library of another major release than the one that is known to be installed.
std::optional<Hypothesis> find_library(const LogSubject& subject, const Observation& seen) {
  const auto library = missing_library(seen);
  if (!library) return std::nullopt;
  const auto built_for = rocm_major_of_library(*library);
  if (!built_for) return std::nullopt;
  Hypothesis mismatch = make(subject, seen);
  mismatch.title = fmt::format("Built for ROCm {}: the program needs {}", *built_for, *library);
  for (const facts::Text& there : releases_there(subject.scene)) {
    const auto major = major_of(*there);
    if (!major) continue;
    if (*major == *built_for) return std::nullopt;
    // From ROCm 7 on a library's number need not be the release's.
    mismatch.confidence = *built_for >= 7 && *major > 7 ? 0.45 : 0.9;
    mismatch.title += fmt::format(", but ROCm {} is installed", *there);
    mismatch.reasons.push_back(fmt::format("{} belongs to ROCm {}. ROCm {} has another number.",
                                           *library, *built_for, *there));
    mismatch.evidence.push_back(show(there, "the installed ROCm"));
    mismatch.fix.push_back(
        sentence(fmt::format("In this case, replace what was built for ROCm {} by a build for ROCm "
                             "{}, or install ROCm {}.",
                             *built_for, *there, *built_for)));
    return mismatch;
  }
  // Nothing tells which ROCm is installed; it may be none, or another one.
  const auto current = major_of(subject.tables.current_rocm);
  mismatch.confidence = was_current(*built_for, date_of(subject.log)) ? 0.3
                        : current && *built_for + 3 < *current        ? 0.55
                                                                      : 0.45;
  mismatch.reasons.push_back(fmt::format(
      "{} belongs to ROCm {}. Either another ROCm is installed, or none.", *library, *built_for));
  mismatch.alternatives.front().confidence = 0.45;
  return mismatch;
}

// An extension that has a library for each release takes one that was built for another release
// than PyTorch, and the process dies in it.
std::optional<Hypothesis> find_other_release(const LogSubject& subject) {
  const Observation* died =
      subject.log.first_of({"segfault", "segfault-banner", "aborted", "undefined-symbol"});
  const facts::Text& torch = subject.scene.torch_rocm;
  if (died == nullptr || !torch) return std::nullopt;
  const auto parts = split(*torch, '.');
  if (parts.size() < 2) return std::nullopt;
  const std::string digits = fmt::format("{}{}", trim(parts[0]), trim(parts[1]));
  for (const Observation* loaded : subject.log.of("release-library-loaded")) {
    const bool fits = loaded->value("taken").starts_with(digits);
    if (fits || loaded->log != died->log || loaded->line > died->line) continue;
    Hypothesis mismatch = make(subject, *loaded);
    mismatch.confidence = 0.75;
    mismatch.title = fmt::format("{} is loaded into a PyTorch built for ROCm {}",
                                 loaded->value("library"), *torch);
    mismatch.reasons.emplace_back(
        "The digits in its name are the release of ROCm that it was built for. Two releases of "
        "ROCm's libraries in one process crash.");
    mismatch.evidence.push_back(show(torch, "the ROCm that PyTorch was built for"));
    mismatch.evidence.push_back(show(subject, *died, logs::describe(*died)));
    return mismatch;
  }
  return std::nullopt;
}

// Finds a library of which the log names another number than the one that is missing: a listing of
// the folder, or somebody's words.
std::optional<Hypothesis> find_other_number(const LogSubject& subject, const Observation& seen) {
  const auto library = missing_library(seen);
  if (!library) return std::nullopt;
  for (const Observation* listed : subject.log.of("library-listed")) {
    const std::string name = fmt::format("{}.so.", listed->value("listed"));
    const std::string whole = name + std::string(listed->value("number"));
    if (!library->starts_with(name) || library->starts_with(whole)) continue;
    Hypothesis mismatch = make(subject, seen);
    mismatch.confidence = 0.85;
    mismatch.title = fmt::format("The program needs {}, but {} is installed", *library, whole);
    mismatch.reasons.emplace_back(
        "The number after \".so.\" is the version of the interface. The program was built for "
        "another release of ROCm than the installed one.");
    mismatch.evidence.push_back(show(subject, *listed, "the installed number"));
    return mismatch;
  }
  return std::nullopt;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Whether the missing symbol is a function of ROCm's libraries under its C++ name, or one of a
// version that they give.
bool is_mangled_of_rocm(const std::string& text) {
  static const RE2 mangled(R"(symbol: _Z\d+(?:hip|roc|hsa|miopen|rsmi|amdsmi)[A-Z_])");
  static const RE2 versioned(R"(symbol: \w+, version (?:hip|rocr|ROCR|roc\w+)_\d)");
  return RE2::PartialMatch(text, mangled) || RE2::PartialMatch(text, versioned);
}

std::optional<Hypothesis> find_symbol(const LogSubject& subject, const Observation& seen) {
  if (seen.text.find("bitsandbytes") != std::string::npos) return std::nullopt;
  const bool of_rocm =
      is_mangled_of_rocm(seen.text) ||
      contains_any(seen.text,
                   {"symbol: hip", "symbol: __hip", "symbol: roc", "symbol: hsa", "symbol: amd",
                    "symbol: rsmi_", "symbol: miopen", "symbol: nccl", "3c103hip", "libroc",
                    "libhip", "libhsa", "libMIOpen", "librccl", "libamd", "/opt/rocm"});
  const bool of_torch =
      contains_any(seen.text, {"_ZN3c10", "_ZNK3c10", "_ZN2at", "_ZNK2at", "_ZN5torch", "c10_hip"});
  if (!of_rocm && !of_torch) return std::nullopt;
  Hypothesis mismatch = make(subject, seen);
  mismatch.confidence = of_rocm ? 0.75 : 0.5;
  mismatch.title = of_rocm
                       ? "One process loads libraries of two ROCm releases"
                       : "An extension was built for a different PyTorch than the installed one";
  mismatch.reasons.emplace_back(
      "A library needs a symbol that the other one does not have. The two do not belong together.");
  mismatch.fix.insert(
      mismatch.fix.begin(),
      sentence_with("See whether the system's libraries are loaded before the package's own",
                    "env | grep LD_LIBRARY_PATH"));
  return mismatch;
}

// "version `hip_6.2' not found" means that the loaded library is older than the one at compilation.
std::optional<Hypothesis> find_symbol_version(const LogSubject& subject, const Observation& seen) {
  const std::string name = to_lower(seen.value("version"));
  if (!contains_any(name, {"hip_", "rocr_", "roc", "amd_comgr", "hsa"})) return std::nullopt;
  Hypothesis mismatch = make(subject, seen);
  mismatch.confidence = 0.9;
  mismatch.title = fmt::format("The loaded ROCm library does not have {}", seen.value("version"));
  mismatch.reasons.emplace_back(
      "Symbol versions increase with each release. The program was built for a newer ROCm than the "
      "one that is loaded.");
  return mismatch;
}

bool same_minor(std::string_view one, std::string_view other) {
  const auto a = split(one, '.'), b = split(other, '.');
  if (a.size() < 2 || b.size() < 2) return true;
  return a[0] == b[0] && a[1] == b[1];
}

// A wheel brings ROCm's libraries with it, so a process that fails on a file of a system's ROCm of
// another release holds two of them.
std::optional<Hypothesis> find_second_tree(const LogSubject& subject, const Observation& seen) {
  const facts::Text& wheel = subject.scene.torch_rocm;
  const std::string_view tree = seen.value("tree");
  if (!wheel || tree.empty() || same_minor(*wheel, tree)) return std::nullopt;
  Hypothesis mismatch = make(subject, seen);
  mismatch.confidence = 0.82;
  mismatch.title = fmt::format("The wheel contains ROCm {}, but the process loads files of ROCm {}",
                               *wheel, tree);
  mismatch.reasons.emplace_back(
      "An extension or LD_LIBRARY_PATH loads the system's libraries into a process that has the "
      "wheel's own. The two releases are incompatible.");
  mismatch.evidence.push_back(show(wheel, "the ROCm that the wheel was built for"));
  mismatch.fix.insert(
      mismatch.fix.begin(),
      sentence(fmt::format(
          "Use PyTorch and its extensions for one release: all for ROCm {}, or all for ROCm {}.",
          *wheel, tree)));
  return mismatch;
}

// ROCm's device libraries are bitcode that is linked into every kernel. Those of another release
// lack functions that the compiler's headers call.
std::optional<Hypothesis> find_device_symbol(const LogSubject& subject, const Observation& seen) {
  Hypothesis mismatch = make(subject, seen);
  mismatch.confidence = 0.7;
  mismatch.title = "The compiler and ROCm's device libraries are from different releases";
  mismatch.reasons.push_back(
      fmt::format("{} belongs to the device libraries, which are linked into every GPU kernel. The "
                  "libraries that were found do not have it.",
                  seen.value("symbol")));
  mismatch.fix.insert(
      mismatch.fix.begin(),
      sentence_with(
          "See which compiler runs, and which libraries it uses",
          "which hipcc; hipconfig --full; env | grep -E 'ROCM_PATH|HIP_PATH|DEVICE_LIB'"));
  return mismatch;
}

// torchvision checks at its import that it and PyTorch are of one build.
std::optional<Hypothesis> find_torchvision(const LogSubject& subject) {
  const Observation* seen = subject.log.first("torchvision-apart");
  if (seen == nullptr) return std::nullopt;
  Hypothesis mismatch = make(subject, *seen);
  mismatch.confidence = 0.65;
  mismatch.title = "PyTorch and torchvision are from different builds";
  mismatch.reasons.emplace_back(
      "torchvision's operators are compiled for one PyTorch, and are not registered with another. "
      "Often one of the two is a build for ROCm and the other comes from PyPI.");
  mismatch.fix = {
      command("pip list | grep -E '^torch'", "(the parts after the plus must be the same)"),
      command("pip install --force-reinstall torch torchvision torchaudio --index-url URL",
              "(all three from the ROCm index given on pytorch.org)")};
  mismatch.alternatives = {{"wrong-wheel", 0.35, "pip list | grep -E '^torch'"}};
  return mismatch;
}

// The device libraries were written by a newer LLVM than the compiler that reads them.
std::optional<Hypothesis> find_bitcode(const LogSubject& subject) {
  const Observation* seen = subject.log.first("bitcode-too-new");
  if (seen == nullptr) return std::nullopt;
  Hypothesis mismatch = make(subject, *seen);
  mismatch.confidence = 0.75;
  mismatch.title = "The compiler and ROCm's device libraries are from different releases";
  mismatch.reasons.emplace_back(
      "The device libraries are bitcode, which only the LLVM of the same release reads reliably. "
      "The compiler in use comes from the distribution or from another ROCm.");
  mismatch.fix.insert(
      mismatch.fix.begin(),
      sentence_with(
          "See which compiler runs, and which libraries it uses",
          "which hipcc clang; hipconfig --full; env | grep -E 'ROCM_PATH|HIP_PATH|DEVICE_LIB'"));
  return mismatch;
}

// Somebody links a library of ROCm under the number of another release, so that a program which
// asks for that one loads it.
std::optional<Hypothesis> find_lent_library(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("soname-linked")) {
    const std::string_view library = seen->value("from"), wanted = seen->value("wanted");
    if (library != seen->value("to") || seen->value("there") == wanted) continue;
    Hypothesis mismatch = make(subject, *seen);
    mismatch.confidence = 0.7;
    mismatch.title =
        fmt::format("A program needs {}.so.{}, which this ROCm does not have", library, wanted);
    mismatch.reasons.emplace_back(
        "The link gives the installed library the number of another release. The program then "
        "loads it, but may fail later, because the number stands for the interface.");
    for (const facts::Text& there : releases_there(subject.scene)) {
      mismatch.evidence.push_back(show(there, "an installed ROCm"));
    }
    mismatch.fix.insert(mismatch.fix.begin(),
                        sentence("Remove the link. A wheel for ROCm has its own libraries and "
                                 "needs none of the system's."));
    return mismatch;
  }
  return std::nullopt;
}

// bitsandbytes was built with the system's ROCm, and asks for the library of the one that PyTorch
// was built for.
std::optional<Hypothesis> find_bitsandbytes(const LogSubject& subject, const Observation& seen) {
  const std::string asked = library_asked_of(seen);
  const Observation* built = built_for_another(subject.log, asked);
  if (built == nullptr) return std::nullopt;
  Hypothesis mismatch = make(subject, seen);
  mismatch.confidence = 0.88;
  mismatch.title = fmt::format("bitsandbytes was built for {}, and PyTorch asks for {}",
                               built->value("built"), asked);
  mismatch.reasons.emplace_back(
      "bitsandbytes names its library after the ROCm that it was built with, and looks for the one "
      "that PyTorch was built for.");
  mismatch.evidence.push_back(show(subject, *built, "the library that is there"));
  return mismatch;
}

// An extension is built by a compiler of an older release than the one that its PyTorch is for, and
// that compiler does not know an option of the build.
std::optional<Hypothesis> find_older_compiler(const LogSubject& subject) {
  const Observation* unknown = subject.log.first("compiler-option-unknown");
  const Observation* compiler = subject.log.first("compiler-of-release");
  const facts::Text& wanted = subject.scene.torch_rocm;
  if (unknown == nullptr || compiler == nullptr || !wanted) return std::nullopt;
  const auto used = facts::parse_kernel_version(compiler->value("compiler_rocm"));
  const auto built_for = facts::parse_kernel_version(*wanted);
  if (!used || !built_for || !(*used < *built_for)) return std::nullopt;
  Hypothesis mixed;
  mixed.confidence = 0.8;
  mixed.title = fmt::format("The compiler is from ROCm {}, but PyTorch is built for ROCm {}",
                            compiler->value("compiler_rocm"), *wanted);
  mixed.reasons.emplace_back(
      "Build files of the newer release use options that this compiler does not have.");
  mixed.evidence = {show(subject, *unknown, logs::describe(*unknown)),
                    show(subject, *compiler, logs::describe(*compiler)),
                    show(wanted, "what PyTorch is built for")};
  mixed.fix = {
      sentence(fmt::format("Build with that release's own compiler: set ROCM_PATH and ROCM_HOME to "
                           "ROCm {}, and put its bin folder first in PATH.",
                           *wanted))};
  return mixed;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  const auto take = [&](std::optional<Hypothesis> one) {
    if (one && (!best || one->confidence > best->confidence)) best = std::move(one);
  };
  for (const auto* seen : subject.log.of("shared-library-missing")) {
    take(find_library(subject, *seen));
    take(find_other_number(subject, *seen));
  }
  for (const auto* seen : subject.log.of("rocm-file-not-loaded")) {
    take(find_second_tree(subject, *seen));
  }
  for (const auto* seen : subject.log.of("symbol-missing")) take(find_symbol(subject, *seen));
  for (const auto* seen : subject.log.of("device-symbol-undefined")) {
    take(find_device_symbol(subject, *seen));
  }
  take(find_runtime_for_wsl(subject));
  take(find_lent_library(subject));
  for (const auto* seen : subject.log.of("bitsandbytes-library")) {
    take(find_bitsandbytes(subject, *seen));
  }
  take(find_other_release(subject));
  take(find_torchvision(subject));
  take(find_bitcode(subject));
  take(find_older_compiler(subject));
  for (const auto* seen : subject.log.of("symbol-version-missing")) {
    take(find_symbol_version(subject, *seen));
  }
  return best;
}

}  // namespace

constinit const CauseRule rocm_version_mismatch_cause = {
    .id = "rocm-version-mismatch",
    .meaning = "A program was built for a different ROCm than the one that is loaded.",
    .why =
        "Libraries change their interfaces between major releases; the number after \".so.\" "
        "stands for the interface. The loader does not find the library, or symbols are missing.",
    .fix = "Use packages for one ROCm release only, and rebuild extensions against it.",
    .explains = "missing-library app-bug framework-bug crash-loop",
    .find = find,
};

}  // namespace headroom::findings
