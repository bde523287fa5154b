// SPDX-License-Identifier: Apache-2.0
// A symbol, or a version of one, that the loaded library does not have: it is of another release
// than the one that the program was compiled against.
#include <fmt/format.h>
#include <re2/re2.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/text.h"
#include "findings/causes/version_mismatch.h"

namespace headroom::findings {
namespace {

using logs::Observation;

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
  Hypothesis mismatch = make_mismatch(subject, seen);
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
  Hypothesis mismatch = make_mismatch(subject, seen);
  mismatch.confidence = 0.9;
  mismatch.title = fmt::format("The loaded ROCm library does not have {}", seen.value("version"));
  mismatch.reasons.emplace_back(
      "Symbol versions increase with each release. The program was built for a newer ROCm than the "
      "one that is loaded.");
  return mismatch;
}

// ROCm's device libraries are bitcode that is linked into every kernel. Those of another release
// lack functions that the compiler's headers call.
std::optional<Hypothesis> find_device_symbol(const LogSubject& subject, const Observation& seen) {
  Hypothesis mismatch = make_mismatch(subject, seen);
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

}  // namespace

std::optional<Hypothesis> find_mismatched_symbol(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  for (const auto* seen : subject.log.of("symbol-missing")) {
    take_surer(find_symbol(subject, *seen), best);
  }
  for (const auto* seen : subject.log.of("device-symbol-undefined")) {
    take_surer(find_device_symbol(subject, *seen), best);
  }
  for (const auto* seen : subject.log.of("symbol-version-missing")) {
    take_surer(find_symbol_version(subject, *seen), best);
  }
  return best;
}

}  // namespace headroom::findings
