// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/package_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "findings/causes/access.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// The frame next before the error, if it is of the package's own start.
const Observation* own_start(const logs::Observations& log, const Observation& error,
                             const std::string& package) {
  constexpr std::uint64_t near = 6;
  const Observation* last = nullptr;
  for (const Observation* frame : log.of("traceback-frame")) {
    if (frame->log != error.log || frame->line >= error.line) continue;
    if (error.line - frame->line <= near) last = frame;
  }
  if (last == nullptr) return nullptr;
  std::string path(last->value(last->value("path").empty() ? "path_1" : "path"));
  std::replace(path.begin(), path.end(), '\\', '/');
  return path.ends_with("-packages/" + package + "/__init__.py") ? last : nullptr;
}

}  // namespace

std::optional<Hypothesis> find_torn_package(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("module-missing")) {
    const std::string module(seen->value("module"));
    const std::size_t dot = module.find('.');
    if (dot == std::string::npos) continue;
    const std::string package = module.substr(0, dot);
    // A compiled part is there or not by how the package was built.
    if (module.find("._C") != std::string::npos) continue;
    const Observation* start = own_start(subject.log, *seen, package);
    if (start == nullptr) continue;
    Hypothesis missing;
    missing.confidence = 0.85;
    missing.is_no_consequence = true;
    missing.title = fmt::format("The installed {} is incomplete: {} is missing", package, module);
    missing.reasons = {
        fmt::format("{} itself asks for its own part at its start, so that every release which "
                    "asks also brings it.",
                    package),
        "An install or an uninstall that was cut short, or what an older one left behind, leaves a "
        "folder with some of the files. No other release of ROCm brings them."};
    missing.evidence = {show(subject, *seen, logs::describe(*seen)),
                        show(subject, *start, "the package's own start")};
    missing.fix = {
        command(fmt::format("python -m pip uninstall -y {}", package),
                "(again, until it says that it is not installed)"),
        sentence_with("Remove what is left of it",
                      fmt::format("python -c \"import site; print(site.getsitepackages())\"; ls -d "
                                  "FOLDER/{}*",
                                  package)),
        sentence("Install it again, with --no-cache-dir, or into a new environment.")};
    missing.alternatives = {{"app-bug", 0.1,
                             fmt::format("ls {}   (is a folder of this name where "
                                         "the program runs?)",
                                         package)}};
    return missing;
  }
  return std::nullopt;
}

std::optional<Hypothesis> find_silent_end(const LogSubject& subject) {
  const Observation* said = subject.log.first("said-to-end-silently");
  if (said == nullptr || platform_of(subject).platform != Platform::windows) return std::nullopt;
  const auto* failure = subject.log.first_with(knowledge::Role::failure);
  const bool printed = subject.log.first_with(knowledge::Role::progress) != nullptr;
  if (failure != nullptr || printed) return std::nullopt;
  Hypothesis missing;
  missing.confidence = 0.66;
  missing.is_told = true;
  missing.title = "The program ends before it begins: most likely a DLL that it needs is missing";
  missing.reasons.emplace_back(
      "A program that Windows starts prints at least its own errors. One whose DLL is not found "
      "ends with the code 0xC0000135, and a shell shows nothing of it.");
  missing.evidence = {show(subject, *said)};
  missing.fix = {
      look("PROGRAM; '{0:X}' -f $LASTEXITCODE", "(in PowerShell; C0000135: a DLL is missing)"),
      look("dumpbin /dependents PROGRAM.exe", "(or the tool Dependencies: which one it is)"),
      sentence("Put the DLL beside the program. Usual ones are the Visual C++ runtime (winget "
               "install Microsoft.VCRedist.2015+.x64), libomp140.x86_64.dll, and amdhip64 with "
               "rocblas of the release that the program was built for.")};
  missing.alternatives = {{"cpu-lacks-avx", 0.1, "the exit code C000001D: an instruction"},
                          {"rocm-regression", 0.15, "another build of the program"}};
  return missing;
}

}  // namespace headroom::findings
