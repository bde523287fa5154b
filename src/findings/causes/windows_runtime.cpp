// SPDX-License-Identifier: Apache-2.0
// On Windows the runtime's file has the major release in its name from ROCm 6 on: amdhip64_6.dll,
// amdhip64_7.dll. The plain amdhip64.dll is that of ROCm 5, and the display driver still brings it
// (ROCm/clr: hipamd/CMakeLists.txt).
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/version_mismatch.h"

namespace headroom::findings {

std::optional<Hypothesis> find_older_dll(const LogSubject& subject) {
  const logs::Observation* loaded = subject.log.first("hip-dll-loaded");
  const facts::Text& rocm = subject.scene.rocm;
  if (loaded == nullptr || !rocm) return std::nullopt;
  static const RE2 first_number(R"(^\D*(\d+)\.)");
  int major = 0;
  if (!RE2::PartialMatch(*rocm, first_number, &major) || major < 6) return std::nullopt;
  if (platform_of(subject).platform != Platform::windows) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, *loaded);
  mismatch.confidence = 0.68;
  mismatch.title = fmt::format("The program loads ROCm 5's runtime beside ROCm {}", *rocm);
  mismatch.reasons.push_back(fmt::format(
      "amdhip64.dll is the runtime of ROCm 5; that of ROCm {} is amdhip64_{}.dll, which its other "
      "libraries load for themselves. Two runtimes in one process do not know of each other's "
      "streams and copies.",
      major, major));
  mismatch.evidence.push_back(show(rocm, "the ROCm in use"));
  mismatch.fix = {
      sentence(fmt::format("Load amdhip64_{}.dll instead, or link the program.", major))};
  return mismatch;
}

}  // namespace headroom::findings
