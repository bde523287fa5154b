// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/release_comparison.h"

#include <re2/re2.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "findings/causes/recovery.h"

namespace headroom::findings {
namespace {

using logs::Observation;
using logs::Observations;

template <std::size_t n>
bool is_one_of(const Observation& one, const std::string_view (&ids)[n]) {
  return std::find(std::begin(ids), std::end(ids), one.id()) != std::end(ids);
}

// Whether a release can cause the failure. A missing target or library is not a fault of a release.
bool is_crash(const Observation& one) {
  static constexpr std::string_view ids[] = {"memory-access-fault",
                                             "gpu-page-fault",
                                             "hsa-exception",
                                             "hip-illegal-access",
                                             "ring-timeout",
                                             "gpu-reset",
                                             "hw-exception",
                                             "mes-timeout",
                                             "hws-hang",
                                             "hip-launch-failure",
                                             "library-internal-error",
                                             "hip-invalid-call",
                                             "aborted",
                                             "segfault",
                                             "signal-exit",
                                             "nan-output",
                                             "kernel-compiler-crash"};
  return is_one_of(one, ids);
}

bool is_work(const Observation& one) {
  static constexpr std::string_view ids[] = {
      "training-finished", "output-saved",   "tests-passed",    "prompt-executed",
      "request-served",    "training-step",  "vllm-throughput", "tensor-on-gpu",
      "llama-timings",     "rccl-test-done", "checkpoint-saved"};
  return is_one_of(one, ids) || (one.id() == "availability-asked" && one.output_has("True"));
}

// "7.14.0a20260608" of a nightly, else "7.0".
std::string release_in(const Observation& one) {
  static const RE2 nightly(R"(\+rocm(?:sdk)?(\d+(?:\.\d+)*a20\d{6}))");
  const std::string_view image = one.value("image_rocm");
  if (!image.empty()) return std::string(image);
  std::string dated;
  if (!one.value("torch_rocm").empty() && RE2::PartialMatch(one.text, nightly, &dated))
    return dated;
  return std::string(one.value("torch_rocm"));
}

// Whether two names mean one release, like "7.0" of an image and "7.0.0" of the wheel in it.
bool same_release(std::string_view one, std::string_view other) {
  return one.starts_with(other) || other.starts_with(one);
}

struct Run {
  std::string release;
  const Observation* told = nullptr;
  const Observation* crash = nullptr;  // The last sign of a crash decides.
  const Observation* work = nullptr;
};

std::vector<Run> runs_of(const Observations& log) {
  std::vector<Run> runs;
  for (const Observation& one : log.all()) {
    if (const auto release = release_in(one); !release.empty()) {
      if (runs.empty() || !same_release(runs.back().release, release)) {
        runs.push_back({release, &one, nullptr, nullptr});
      } else if (release.size() > runs.back().release.size()) {
        runs.back().release = release;
      }
    }
    if (runs.empty()) continue;
    if (is_crash(one) && runs.back().crash == nullptr) runs.back().crash = &one;
    if (is_work(one)) {
      runs.back().work = &one;
      runs.back().crash = nullptr;
    }
  }
  return runs;
}

std::optional<ReleaseComparison> compare_runs(const Observations& log) {
  const std::vector<Run> runs = runs_of(log);
  for (const Run& bad : runs) {
    if (bad.crash == nullptr) continue;
    for (const Run& good : runs) {
      const bool works = good.work != nullptr && good.crash == nullptr;
      if (!works || same_release(good.release, bad.release)) continue;
      return ReleaseComparison{
          bad.release, good.release, bad.crash, {bad.told, good.told, good.work}, true, ""};
    }
  }
  return std::nullopt;
}

std::string_view value_of(const Observation& one, const std::string& name) {
  for (const char* form : {"", "_1", "_2"}) {
    if (const auto found = one.value(name + form); !found.empty()) return found;
  }
  return {};
}

// Returns "6.4.1" for "6.4.1-1".
std::string release_of_package(std::string_view version) {
  return std::string(version.substr(0, version.find_first_of("-~+")));
}

// Whether the change is told as the answer to a question at the log's end: a person who looks up
// what was updated after a crash pastes the history behind it.
bool is_looked_up(const Observations& log, const Observation& changed) {
  for (const Observation& one : log.all()) {
    const bool near =
        one.log == changed.log && one.line < changed.line && changed.line - one.line <= 3;
    if (near && one.id() == "package-history-read") return true;
  }
  return false;
}

// A first crash before the change shows that the change did not bring it, unless the history was
// read afterwards.
std::optional<ReleaseComparison> compare_looked_up(const Observations& log) {
  const Observation* changed = log.last("rocm-package-changed");
  if (changed == nullptr || !is_looked_up(log, *changed)) return std::nullopt;
  for (const Observation& one : log.all()) {
    const bool before = std::pair(one.log, one.line) < std::pair(changed->log, changed->line);
    if (!before || !is_crash(one)) continue;
    ReleaseComparison compared;
    compared.fails = release_of_package(value_of(*changed, "to"));
    compared.works = release_of_package(value_of(*changed, "from"));
    compared.package = value_of(*changed, "package");
    if (compared.fails == compared.works) return std::nullopt;
    compared.failure = &one;
    compared.told_by = {changed};
    return compared;
  }
  return std::nullopt;
}

std::optional<ReleaseComparison> compare_packages(const Observations& log) {
  const Observation* changed = nullptr;
  const Observation* crash = nullptr;
  const Observation* back = nullptr;
  bool fails_again = false;
  for (const Observation& one : log.all()) {
    if (one.id() == "rocm-package-changed" && changed == nullptr) changed = &one;
    if (one.id() == "rocm-package-back" && crash != nullptr) back = &one;
    if (changed == nullptr || !is_crash(one)) continue;
    if (crash == nullptr) crash = &one;
    fails_again = back != nullptr;
  }
  if (crash == nullptr) return std::nullopt;
  ReleaseComparison compared;
  compared.fails = release_of_package(value_of(*changed, "to"));
  compared.works = release_of_package(value_of(*changed, "from"));
  compared.package = value_of(*changed, "package");
  if (compared.fails == compared.works || fails_again) return std::nullopt;
  compared.failure = crash;
  compared.told_by = {changed};
  if (back != nullptr) compared.told_by.push_back(back);
  compared.shown = back != nullptr;
  return compared;
}

}  // namespace

const Observation* rocm_upgrade_told(const LogSubject& subject) {
  const facts::Text& rocm = subject.scene.rocm;
  for (const Observation* one : subject.log.of("upgrade-told")) {
    const bool names_rocm = to_lower(one->text).find("rocm") != std::string::npos;
    const bool is_in_use = rocm && same_release(*rocm, one->value("after"));
    if (names_rocm || is_in_use) return one;
  }
  return nullptr;
}

std::optional<ReleaseComparison> compare_releases(const Observations& log) {
  if (auto runs = compare_runs(log)) return runs;
  if (auto packages = compare_packages(log)) return packages;
  return compare_looked_up(log);
}

}  // namespace headroom::findings
