// SPDX-License-Identifier: Apache-2.0
// bitsandbytes-no-rocm: bitsandbytes looks for the library of the ROCm or CUDA version that torch
// names, and has none that works.
#include <fmt/format.h>

#include <algorithm>

#include "findings/causes/bitsandbytes.h"
#include "findings/causes/causes.h"
#include "findings/causes/contradiction.h"
#include "findings/causes/failed_allocation.h"
#include "findings/causes/recovery.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// The last sign of progress behind the line, if no other failure follows it.
const Observation* work_after(const logs::Observations& log, const Observation& seen) {
  const Observation* last = nullptr;
  for (const Observation& one : log.all()) {
    if (one.log != seen.log || one.line <= seen.line) continue;
    if (one.signature->role == knowledge::Role::progress) last = &one;
  }
  if (last == nullptr) return nullptr;
  for (const Observation& one : log.all()) {
    const bool behind = one.log == last->log && one.line > last->line;
    if (behind && is_failure(log, one)) return nullptr;
  }
  return last;
}

void weigh_what_follows(const LogSubject& subject, const Observation& seen, Hypothesis& bits) {
  // bitsandbytes writes the error, its traceback included, to its log and lets the program go on.
  if (const Observation* on = work_after(subject.log, seen)) {
    speak_against(bits, 0.3, show(subject, *on, "the program continues without it"));
  }
  // A job that got as far as running out of memory in its training had its model loaded.
  const auto ran_out = failed_allocation(subject);
  if (ran_out && ran_out->seen->log == seen.log && is_before(seen, *ran_out->seen)) {
    speak_against(bits, 0.5, show(subject, *ran_out->seen, "the job goes on to this failure"));
  }
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  const Observation* library = subject.log.first("bitsandbytes-library");
  const Observation* told = subject.log.first("bitsandbytes-without-gpu");
  const Observation* seen = library != nullptr ? library : told;
  if (seen == nullptr) seen = subject.log.first("native-call-missing");
  if (seen == nullptr) return std::nullopt;
  const std::string backend = library != nullptr ? library_asked_of(*library) : "";
  const bool amd = subject.scene.vendor && *subject.scene.vendor == Vendor::amd;
  const bool names_rocm = backend.starts_with("rocm") || backend.starts_with("hip") ||
                          (told != nullptr && told->text.find("ROCm") != std::string::npos);
  Hypothesis bits;
  bits.confidence = names_rocm ? 0.93 : amd ? 0.88 : 0.5;
  // It asks PyTorch which GPU there is, and so has none where PyTorch itself was built without HIP.
  if (!names_rocm && !subject.scene.torch_rocm) {
    if (const Observation* other = subject.log.first_of({"cuda-build", "torch-hip-none"})) {
      speak_against(bits, 0.5, show(subject, *other, "PyTorch itself is not a build for ROCm"));
    }
  }
  weigh_what_follows(subject, *seen, bits);
  const Observation* built = built_for_another(subject.log, backend);
  const bool misread = built != nullptr && is_misread(subject, *built, backend);
  if (built != nullptr && !misread) {
    speak_against(bits, 0.5, show(subject, *built, "it has a library, for another ROCm"));
  }
  const bool symbol = seen->text.find("undefined symbol") != std::string::npos;
  bits.title = symbol ? "The bitsandbytes library for ROCm is broken: a symbol is missing"
               : backend.empty() ? "bitsandbytes has no working back-end for ROCm"
                                 : fmt::format("bitsandbytes has no library {}", backend);
  bits.reasons.push_back(
      symbol ? "Its library was built for another ROCm, or incompletely. bitsandbytes itself has "
               "to be replaced."
             : "bitsandbytes chooses its library by the ROCm release that torch was built for, and "
               "this wheel has none for it. The library for the CPU or CUDA does not help here.");
  bits.evidence.push_back(show(subject, *seen, logs::describe(*seen)));
  if (misread) {
    bits.title = fmt::format("bitsandbytes looks for {}, and its library is {}", backend,
                             built->value("built"));
    bits.reasons = {
        "It was built for the release in use, and computes another name from that release's "
        "number."};
    bits.evidence.push_back(show(subject, *built, "the library that is there"));
  }
  if (subject.scene.torch_rocm) {
    bits.evidence.push_back(show(subject.scene.torch_rocm, "what torch was built for"));
  }
  const std::string gfx = subject.scene.gfx();
  bits.fix = {command("pip install -U bitsandbytes",
                      "(0.49 and later include libraries for ROCm 6 and 7 on Linux)"),
              sentence(fmt::format(
                  "Or build it: git clone https://github.com/bitsandbytes-foundation/bitsandbytes "
                  "&& cd bitsandbytes && cmake -DCOMPUTE_BACKEND=hip -DBNB_ROCM_ARCH={} -S . && "
                  "make && pip install .",
                  gfx.empty() ? "gfx…" : gfx)),
              sentence("Or choose the library of a near release: export BNB_ROCM_VERSION=72"),
              look("python -m bitsandbytes", "(shows which library it uses)")};
  if (misread) {
    bits.fix.insert(bits.fix.begin(), sentence(fmt::format("Name the library that is there: export "
                                                           "BNB_ROCM_VERSION={}",
                                                           built->value("built").substr(4))));
  }
  bits.alternatives = {
      {"rocm-version-mismatch", 0.1, "python -m bitsandbytes"},
      {"wrong-wheel", amd ? 0.1 : 0.4, "python3 -c \"import torch; print(torch.version.hip)\""}};
  return bits;
}

}  // namespace

constinit const CauseRule bitsandbytes_no_rocm_cause = {
    .id = "bitsandbytes-no-rocm",
    .meaning = "bitsandbytes is installed without a working ROCm back-end.",
    .why =
        "Older wheels contain libraries for CUDA and the CPU only, newer ones also for some ROCm "
        "releases. Without one, 8-bit and 4-bit training fails or runs on the CPU.",
    .fix = "Install a release with ROCm libraries, or build it for this ROCm and GPU.",
    .explains =
        "app-bug framework-bug missing-library rocm-version-mismatch wrong-wheel crash-loop",
    .find = find,
};

}  // namespace headroom::findings
