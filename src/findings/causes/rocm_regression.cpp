// SPDX-License-Identifier: Apache-2.0
// rocm-regression: the set-up is right, but one release of ROCm breaks it on this target. Either
// the table of known combinations has it (data/advisories.toml), or the log says or shows that
// another release works. A version alone is not enough: the log must show a fault, a hang or a
// crash.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "findings/causes/causes.h"
#include "findings/causes/crash_signs.h"
#include "findings/causes/gpu_code.h"
#include "findings/causes/release_comparison.h"
#include "findings/causes/release_memory.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// Finds a failure that such a release may cause.
const Observation* failure_of(const LogSubject& subject) {
  const CrashSigns signs = find_crash_signs(subject.log);
  if (signs.of_gpu() != nullptr) return signs.of_gpu();
  if (const auto* other = subject.log.first_of({"hip-launch-failure", "nan-output"})) return other;
  return signs.died;
}

std::optional<Hypothesis> find_known(const LogSubject& subject, const Observation& failure) {
  const auto matches = match_advisories(subject, "rocm");
  if (matches.empty()) return std::nullopt;
  const AdvisoryMatch& match = matches.front();
  const facts::Text& rocm = rocm_of(subject.scene);
  const bool bad = match.advisory->effect == knowledge::Effect::bad;
  const bool of_gpu = find_crash_signs(subject.log).of_gpu() != nullptr;
  Hypothesis regression;
  regression.confidence = bad ? 0.85 : 0.65;
  if (!match.certain) regression.confidence -= 0.15;
  // A process may die for any reason, wrong numbers have many, and a kernel that did not finish
  // tells even less where the release fails only at times.
  if (!of_gpu) regression.confidence -= bad ? 0.15 : 0.35;
  regression.title = fmt::format("ROCm {} is known {} on {}", *rocm,
                                 bad ? "not to work" : "to be unstable", gpu_of(subject.scene));
  regression.reasons.push_back(match.advisory->happens);
  regression.reasons.insert(regression.reasons.end(), match.reasons.begin(), match.reasons.end());
  regression.reasons.push_back(fmt::format(
      "Known from: {}.",
      fmt::join(knowledge::full_sources(subject.tables, match.advisory->origin), "; ")));
  regression.evidence.push_back(show(subject, failure, logs::describe(failure)));
  regression.evidence.push_back(show(rocm, "the ROCm that the job ran with"));
  regression.fix = sentences(match.advisory->to_do);
  regression.alternatives.push_back(
      {"gpu-hang", 0.2, "run the job with the release that the fix names"});
  return regression;
}

// A remark in the log says that it works with another release.
std::optional<Hypothesis> find_said(const LogSubject& subject, const Observation& failure) {
  const Observation* said = subject.log.first_of({"other-rocm-works", "rocm-regression-said"});
  if (said == nullptr) return std::nullopt;
  std::string other;
  for (const std::string_view name : {"works", "back"}) {
    if (other.empty()) other = said->value(name);
  }
  const facts::Text& rocm = rocm_of(subject.scene);
  // "It works with ROCm 6.2" says nothing if 6.2 is what runs here.
  if (!other.empty() && rocm && rocm->starts_with(other)) return std::nullopt;
  Hypothesis regression;
  regression.confidence = 0.75;
  regression.title =
      fmt::format("{} breaks this job{}", rocm ? "ROCm " + *rocm : "This release of ROCm",
                  other.empty() ? "" : fmt::format("; with ROCm {} it works", other));
  regression.reasons.emplace_back("The same job is said to work with another release of ROCm.");
  regression.evidence = {show(subject, failure, logs::describe(failure)), show(subject, *said)};
  if (!other.empty()) {
    regression.fix.push_back(command(fmt::format(
        "pip install --force-reinstall torch --index-url {}rocm{}", subject.tables.torch_index,
        other.substr(0, other.find('.', other.find('.') + 1)))));
  }
  regression.fix.push_back(
      sentence("Report to ROCm both versions, the target and the smallest program that shows it."));
  return regression;
}

// It is said that ROCm was upgraded, and from then on it failed. Nothing shows the run before.
std::optional<Hypothesis> find_upgraded(const LogSubject& subject) {
  const Observation* told = rocm_upgrade_told(subject);
  const Observation* failure = subject.log.first_with(knowledge::Role::failure);
  if (failure == nullptr) failure = subject.log.first_with(knowledge::Role::consequence);
  if (told == nullptr || failure == nullptr) return std::nullopt;
  // A release that has no code for the target does not break it: it dropped the target.
  const auto no_code = find_no_code(subject);
  if (no_code && !no_code->add_on) return std::nullopt;
  const auto before = told->value("before"), after = told->value("after");
  Hypothesis regression;
  regression.confidence = 0.6;
  regression.title =
      fmt::format("It is said to fail since ROCm {} was replaced by {}", before, after);
  regression.reasons = {
      "It worked with the previous release, so the newer release, or something that came with it, "
      "is the likely cause. Only the report says so; no line shows the run that worked."};
  regression.evidence = {show(subject, *failure, logs::describe(*failure)), show(subject, *told)};
  regression.fix = {
      sentence(fmt::format(
          "Go back to ROCm {} with all of its packages, or its wheels: sudo apt install rocm={}\\*",
          before, before)),
      sentence(fmt::format("Check whether ROCm {} supports this system at all. WSL and older "
                           "distributions are supported by some releases only.",
                           after))};
  regression.alternatives = {{"rocm-version-mismatch", 0.2, "ls -d /opt/rocm*; pip list"}};
  return regression;
}

Hypothesis make_nightly(const LogSubject& subject, const Observation& frame, Evidence release) {
  Hypothesis regression;
  regression.confidence = confidence::possible;
  regression.title = "A nightly build of ROCm crashes in its own runtime";
  regression.reasons = {"The crash is inside ROCm's library, before the program does anything."};
  regression.evidence = {show(subject, frame), std::move(release)};
  regression.fix = {sentence("Use the release, or a nightly build from some days earlier.")};
  return regression;
}

// ROCm's runtime itself dies, and it is a nightly build, of which any may be broken.
std::optional<Hypothesis> find_nightly(const LogSubject& subject) {
  const Observation* frame = subject.log.first("rocm-crash-frame");
  static const RE2 nightly(R"(\+rocm(?:sdk)?\d+(?:\.\d+)*(?:a|rc)\d+)");
  static const RE2 dated(R"(\d+\.\d+\.\d+(?:a|rc)\d+|nightly)");
  if (frame == nullptr) return std::nullopt;
  if (subject.scene.rocm && RE2::PartialMatch(*subject.scene.rocm, dated)) {
    return make_nightly(subject, *frame, show(subject.scene.rocm, "a nightly build"));
  }
  for (const std::string_view id : {"torch-version", "torch-version-alone"}) {
    for (const Observation* one : subject.log.of(id)) {
      if (!RE2::PartialMatch(one->text, nightly)) continue;
      return make_nightly(subject, *frame, show(subject, *one, "a nightly build"));
    }
  }
  return std::nullopt;
}

// The kernel says that the process died in one of ROCm's libraries that compute or compile. What a
// program gives them does not crash them, so it is their fault, or the fault of two that do not
// fit.
std::optional<Hypothesis> find_crash_inside(const LogSubject& subject) {
  static const RE2 inside(
      R"(segfault at .* in (lib(?:amd_comgr|hiprtc|rocblas|hipblaslt|MIOpen|rccl)\.so[\w.]*)|#\d+.* ((?:rocr|hip|amd)::\w+)::)");
  for (const Observation* frame : subject.log.of("rocm-crash-frame")) {
    std::string library, space;
    if (!RE2::PartialMatch(frame->text, inside, &library, &space)) continue;
    if (library.empty()) library = space;
    Hypothesis regression;
    // Of the runtime, a frame may also tell of what a program gave to it.
    regression.confidence = space.empty() ? 0.55 : 0.45;
    regression.title = fmt::format("ROCm's {} crashes", library);
    regression.reasons = {
        "The process died inside ROCm's library, in work that the program left to it. Another "
        "release of ROCm is the way out, if no package was mixed in from one."};
    regression.evidence = {show(subject, *frame)};
    regression.fix = {
        sentence("Try the release of ROCm before this one, and the newest one. A container has "
                 "its own, and changes nothing on the machine: rocm/dev-ubuntu-24.04:VERSION"),
        sentence("See whether all packages are of one release: rpm -qa | grep -i rocm, or dpkg -l "
                 "| grep -i rocm")};
    regression.alternatives = {
        {"rocm-version-mismatch", 0.2, "ls -d /opt/rocm*; ldd PROGRAM | grep -iE 'hip|rocm|comgr'"},
        {"framework-bug", 0.15, "the same program in a container with another ROCm"}};
    return regression;
  }
  return std::nullopt;
}

// It dies inside the runtime that it brings along, and an older build of the program did not: what
// changed for the GPU is the ROCm in it.
std::optional<Hypothesis> find_bundled(const LogSubject& subject) {
  const Observation* before = subject.log.first_of({"program-regressed", "older-build-works"});
  if (before == nullptr) return std::nullopt;
  for (const Observation* bundled : subject.log.of("runtime-bundled")) {
    for (const char* id : {"segfault", "signal-exit", "aborted", "rocm-crash-frame"}) {
      for (const Observation* died : subject.log.of(id)) {
        if (died->log != bundled->log || died->line != bundled->line) continue;
        Hypothesis regression;
        regression.confidence = 0.62;
        regression.title = "The ROCm runtime in the newer build of the program crashes";
        regression.reasons = {
            "The process dies inside the runtime that the program brings along. An older build, "
            "with an older ROCm in it, is said to work."};
        regression.evidence = {show(subject, *died, logs::describe(*died)), show(subject, *before)};
        regression.fix = {sentence("Use the older build, or let the system's runtime be loaded: "
                                   "LD_LIBRARY_PATH=/opt/rocm/lib PROGRAM"),
                          sentence("Report both to who builds the program, and to ROCm.")};
        regression.alternatives = {
            {"rocm-version-mismatch", 0.3, "the same build with LD_LIBRARY_PATH=/opt/rocm/lib"}};
        return regression;
      }
    }
  }
  return std::nullopt;
}

// rocBLAS chose a kernel that its own checks then refuse: no program can cause that. ROCm 6.2's
// half-precision products did so on gfx908 (ROCm/Tensile#2044).
std::optional<Hypothesis> find_refused_kernel(const LogSubject& subject) {
  const Observation* threw = subject.log.first("tensile-threw");
  if (threw == nullptr) return std::nullopt;
  const facts::Text& rocm = rocm_of(subject.scene);
  const Observation* told = subject.log.first("release-arrived");
  Hypothesis regression;
  regression.confidence = rocm && rocm->starts_with("6.2") ? 0.75 : told != nullptr ? 0.7 : 0.5;
  regression.title = rocm ? fmt::format("rocBLAS of ROCm {} refuses a kernel of its own", *rocm)
                          : "This release of rocBLAS refuses a kernel of its own";
  regression.reasons = {
      "rocBLAS found a kernel for the product, and its library of kernels then did not accept the "
      "call. Both are of ROCm; the program and the GPU are not at fault."};
  regression.evidence = {show(subject, *threw, logs::describe(*threw))};
  if (told != nullptr) regression.evidence.push_back(show(subject, *told));
  if (rocm) regression.evidence.push_back(show(rocm, "the release in use"));
  regression.fix = {
      sentence("Use another release of ROCm's packages, the one before this one or a newer one."),
      sentence("Until then, let the program use its own kernels: for llama.cpp and koboldcpp "
               "-DGGML_CUDA_FORCE_MMQ=ON, or a Vulkan build.")};
  regression.alternatives = {
      {"framework-bug", 0.25, "rocblas-bench -f gemm -r h -m 256 -n 256 -k 64"}};
  return regression;
}

// What a comparison shows, in words.
struct Shown {
  double confidence = 0;
  std::string title, reason;
  std::vector<Alternative> alternatives;
};

Shown what_is_shown(const ReleaseComparison& compared, const std::string& what) {
  if (compared.lost_access) {
    return {
        0.65,
        fmt::format("{} {} does not see the GPU that {} saw", what, compared.fails, compared.works),
        fmt::format("The GPU was seen before ROCm {} was updated to {}. A release may leave "
                    "out a GPU, a distribution or WSL.",
                    compared.works, compared.fails),
        {{"driver-not-loaded", 0.15, "ls -l /dev/kfd; lsmod | grep amdgpu"},
         {"gpu-unsupported", 0.1, "the list of supported GPUs and systems of that release"}}};
  }
  if (compared.shown) {
    return {compared.package.empty() ? 0.85 : 0.8,
            fmt::format("{0} {1} breaks this job; with {0} {2} it works", what, compared.fails,
                        compared.works),
            fmt::format("In this log the same job runs with {} {} and fails with {}.", what,
                        compared.works, compared.fails),
            {}};
  }
  return {0.45,
          fmt::format("{} {} breaks this job", what, compared.fails),
          fmt::format("It crashes after {} was updated from {} to {}.", what, compared.works,
                      compared.fails),
          {{"gpu-hang", 0.2, "the same job with the previous packages"}}};
}

// The log itself has runs with both releases.
std::optional<Hypothesis> find_compared(const LogSubject& subject,
                                        const std::optional<ReleaseComparison>& compared) {
  if (!compared) return std::nullopt;
  const bool packages = !compared->package.empty();
  const std::string what = packages ? compared->package : "ROCm";
  Shown shown = what_is_shown(*compared, what);
  Hypothesis regression;
  regression.confidence = shown.confidence;
  regression.title = std::move(shown.title);
  regression.reasons.push_back(std::move(shown.reason));
  regression.alternatives = std::move(shown.alternatives);
  regression.evidence = {show(subject, *compared->failure, logs::describe(*compared->failure))};
  for (const Observation* one : compared->told_by) {
    regression.evidence.push_back(show(subject, *one));
  }
  regression.fix.push_back(
      sentence(packages ? fmt::format("Go back to {} {} with all of ROCm's packages, and pin them.",
                                      what, compared->works)
                        : fmt::format("Stay with ROCm {} for this job.", compared->works)));
  regression.fix.push_back(
      sentence("Report to ROCm both versions, the target and the smallest program that shows it."));
  return regression;
}

// A known regression, which the log's own comparison supports.
Hypothesis joined(Hypothesis known, Hypothesis compared) {
  known.confidence = std::max(known.confidence, compared.confidence);
  known.reasons.insert(known.reasons.begin() + 1, compared.reasons.begin(), compared.reasons.end());
  known.evidence.insert(known.evidence.end(), compared.evidence.begin(), compared.evidence.end());
  return known;
}

// Of a log with runs of two releases, what is known of the one that fails.
std::optional<Hypothesis> find_known_of(const LogSubject& subject, const Observation& failure,
                                        const std::optional<ReleaseComparison>& compared) {
  if (!compared || !compared->package.empty()) return find_known(subject, failure);
  Scene scene = subject.scene;
  const Observation& line = *compared->failure;
  scene.rocm =
      scene.torch_rocm = {compared->fails, {line.log_name, static_cast<int>(line.line), line.text}};
  return find_known({subject.log, scene, subject.tables, subject.log_names, subject.job}, failure);
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const auto comparison = compare_releases(subject.log);
  auto compared = find_compared(subject, comparison);
  const Observation* failure = failure_of(subject);
  auto known = failure == nullptr ? std::nullopt : find_known_of(subject, *failure, comparison);
  const bool is_clear = compared && compared->confidence >= confidence::likely;
  // What is known of the release says more than that another one works: it names the way out.
  if (known && is_clear) return joined(*std::move(known), *std::move(compared));
  if (is_clear) return compared;
  if (known) return known;
  if (auto bundled = find_bundled(subject)) return bundled;
  if (auto refused = find_refused_kernel(subject)) return refused;
  if (auto crashed = find_nightly(subject)) return crashed;
  if (failure == nullptr) {
    if (!compared) compared = compare_memory_of_releases(subject);
    return compared ? compared : find_upgraded(subject);
  }
  if (auto said = find_said(subject, *failure)) return said;
  if (!compared) compared = find_crash_inside(subject);
  return compared ? compared : find_upgraded(subject);
}

}  // namespace

constinit const CauseRule rocm_regression_cause = {
    .id = "rocm-regression",
    .meaning = "One release of ROCm breaks what works with another one, on this GPU.",
    .why =
        "The installation is correct, so there is nothing to fix in it. A bug came with one "
        "release and was fixed in a later one.",
    .fix = "Use the release before or after it. The finding names one that is known to work.",
    .explains = "gpu-hang crash-loop framework-bug app-bug",
    .find = find,
};

}  // namespace headroom::findings
