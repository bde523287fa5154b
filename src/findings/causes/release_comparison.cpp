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
                                             "memory-in-use",
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
      "training-finished", "output-saved",   "tests-passed",     "prompt-executed",
      "request-served",    "training-step",  "vllm-throughput",  "tensor-on-gpu",
      "llama-timings",     "rccl-test-done", "checkpoint-saved", "llama-bench-row"};
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

// The release of the system, which somebody chose among several, installed or listed. A wheel
// brings its own.
std::string system_release_in(const Observation& one) {
  for (const char* how : {"tree_rocm", "set_up_rocm", "listed_rocm"}) {
    if (!one.value(how).empty()) return std::string(one.value(how));
  }
  return {};
}

struct Run {
  std::string release;
  bool of_system = false;
  const Observation* told = nullptr;
  const Observation* crash = nullptr;  // The last sign of a crash decides.
  const Observation* work = nullptr;
};

std::vector<Run> runs_of(const Observations& log) {
  std::vector<Run> runs;
  for (const Observation& one : log.all()) {
    const std::string system = system_release_in(one);
    const auto release = system.empty() ? release_in(one) : system;
    // A list of packages tells what the first run has, and nothing of a later one.
    const bool is_told = !release.empty() && (one.value("listed_rocm").empty() || runs.empty());
    if (is_told) {
      if (runs.empty() || !same_release(runs.back().release, release)) {
        runs.push_back({release, !system.empty(), &one, nullptr, nullptr});
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
      if (good.of_system != bad.of_system) continue;
      return ReleaseComparison{
          bad.release, good.release, bad.crash, {bad.told, good.told, good.work}, true, "", false};
    }
  }
  return std::nullopt;
}

std::string_view value_of(const Observation& one, const std::string& name) {
  for (const char* form : {"", "_1", "_2", "_3"}) {
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

// A run with the new revision failed, and after going back to the old one the work is done again.
std::optional<ReleaseComparison> compare_revisions(const Observations& log) {
  const Observation* changed = nullptr;
  const Observation* failure = nullptr;
  const Observation* back = nullptr;
  const Observation* work = nullptr;
  for (const Observation& one : log.all()) {
    const bool changes =
        one.id() == "rocm-package-changed" && value_of(one, "from") != value_of(one, "to");
    if (changes && failure != nullptr && value_of(one, "to") == value_of(*changed, "from")) {
      back = &one;
    } else if (changes && failure == nullptr) {
      changed = &one;
    }
    if (changed == nullptr) continue;
    const bool failed = one.signature->role == knowledge::Role::failure && is_failure(log, one);
    if (failed && back != nullptr) return std::nullopt;
    if (failed && failure == nullptr) failure = &one;
    if (back != nullptr && one.signature->role == knowledge::Role::progress) work = &one;
  }
  if (work == nullptr) return std::nullopt;
  ReleaseComparison compared;
  compared.fails = release_of_package(value_of(*changed, "to"));
  compared.works = release_of_package(value_of(*changed, "from"));
  compared.package = value_of(*changed, "package");
  compared.failure = failure;
  compared.told_by = {changed, back, work};
  compared.shown = true;
  return compared;
}

// The three numbers of a release: "6.4.2" of rocm-core's "6.4.2.60402-120~22.04".
std::string release_of_core(std::string_view version) {
  static const RE2 numbers(R"(^(\d+\.\d+\.\d+))");
  std::string release;
  RE2::PartialMatch(version, numbers, &release);
  return release;
}

// The GPU was seen with the release before the update, and is not seen after it.
std::optional<ReleaseComparison> compare_access(const Observations& log) {
  static constexpr std::string_view sights[] = {"agent-name", "torch-sees-gpu", "tensor-on-gpu"};
  static constexpr std::string_view refusals[] = {"rocminfo-failed", "no-gpu-seen"};
  const Observation* changed = nullptr;
  const Observation* seen = nullptr;
  const Observation* lost = nullptr;
  for (const Observation& one : log.all()) {
    const bool is_update =
        one.id() == "rocm-package-changed" && value_of(one, "package") == "rocm-core";
    if (is_update && seen != nullptr && changed == nullptr) changed = &one;
    if (changed != nullptr && lost == nullptr && is_one_of(one, refusals)) lost = &one;
    if (!is_one_of(one, sights)) continue;
    if (changed != nullptr) return std::nullopt;
    seen = &one;
  }
  if (lost == nullptr) return std::nullopt;
  ReleaseComparison compared;
  compared.fails = release_of_core(value_of(*changed, "to"));
  compared.works = release_of_core(value_of(*changed, "from"));
  if (compared.fails.empty() || compared.fails == compared.works) return std::nullopt;
  compared.failure = lost;
  compared.told_by = {changed, seen};
  compared.lost_access = true;
  return compared;
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
  if (auto revisions = compare_revisions(log)) return revisions;
  if (auto packages = compare_packages(log)) return packages;
  if (auto access = compare_access(log)) return access;
  return compare_looked_up(log);
}

}  // namespace headroom::findings
