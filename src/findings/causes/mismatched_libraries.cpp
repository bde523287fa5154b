// SPDX-License-Identifier: Apache-2.0
// A library of another release than the one that is there, by its number, its folder or its name.
// The number after ".so." names the major release for which a program was built.
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "findings/causes/access.h"
#include "findings/causes/libraries.h"
#include "findings/causes/version_mismatch.h"
#include "logs/describe.h"
#include "logs/sentence.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::optional<std::uint64_t> major_of(std::string_view version) {
  return parse_u64(split(trim(version), '.').front());
}

// Finds a library of another major release than the one that is known to be installed.
std::optional<Hypothesis> find_library(const LogSubject& subject, const Observation& seen) {
  const auto library = missing_library(seen);
  if (!library) return std::nullopt;
  const auto built_for = rocm_major_of_library(*library);
  if (!built_for) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, seen);
  mismatch.title = fmt::format("Built for ROCm {}: the program needs {}", *built_for, *library);
  for (const facts::Text& there : releases_there(subject.scene)) {
    const auto major = major_of(*there);
    if (!major) continue;
    const bool is_gone = is_gone_in(*library, *there);
    if (*major == *built_for && !is_gone) return std::nullopt;
    // From ROCm 7 on a library's number need not be the release's.
    mismatch.confidence = *built_for >= 7 && *major > 7 ? 0.45 : 0.9;
    mismatch.title += fmt::format(", but ROCm {} is installed", *there);
    mismatch.reasons.push_back(
        is_gone ? fmt::format("{} is of earlier releases. ROCm {} gave it up for another.",
                              *library, *there)
                : fmt::format("{} belongs to ROCm {}. ROCm {} has another number.", *library,
                              *built_for, *there));
    mismatch.evidence.push_back(show(there, "the installed ROCm"));
    mismatch.fix.push_back(
        is_gone ? sentence(fmt::format("In this case, replace the program by a build for ROCm {}, "
                                       "or install the release that it was built for.",
                                       *there))
                : sentence(fmt::format("In this case, replace what was built for ROCm {} by a "
                                       "build for ROCm {}, or install ROCm {}.",
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
    Hypothesis mismatch = make_mismatch(subject, *loaded);
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
    Hypothesis mismatch = make_mismatch(subject, seen);
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

// A person says which number of a library a program needs, and a listing of files has it under
// another number alone.
std::optional<Hypothesis> find_wanted_number(const LogSubject& subject, const Observation& wanted) {
  const Observation* other = nullptr;
  for (const Observation* listed : subject.log.of("library-listed")) {
    // Sentences name what is wanted as well as what is there.
    if (listed->value("listed") != wanted.value("wants") || logs::is_sentence(listed->text)) {
      continue;
    }
    if (listed->value("number") == wanted.value("wanted")) return std::nullopt;
    if (other == nullptr) other = listed;
  }
  if (other == nullptr) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, wanted);
  mismatch.confidence = 0.75;
  mismatch.title =
      fmt::format("The program needs {0}.so.{1}, but {0}.so.{2} is installed",
                  wanted.value("wants"), wanted.value("wanted"), other->value("number"));
  mismatch.reasons.emplace_back(
      "The number after \".so.\" is the version of the interface. The program was built for "
      "another release of ROCm than the installed one.");
  mismatch.evidence.push_back(show(subject, *other, "the installed number"));
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
  Hypothesis mismatch = make_mismatch(subject, seen);
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

// Somebody links a library of ROCm under the number of another release, so that a program which
// asks for that one loads it.
std::optional<Hypothesis> find_lent_library(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("soname-linked")) {
    const std::string_view library = seen->value("from"), wanted = seen->value("wanted");
    if (library != seen->value("to") || seen->value("there") == wanted) continue;
    Hypothesis mismatch = make_mismatch(subject, *seen);
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

// The folder without what differs in its names alone: /opt/rocm is a link to /opt/rocm-6.4.1.
std::string own_folder(std::string folder) {
  static const RE2 release(R"(/opt/rocm-\d[\d.]*)");
  static const RE2 core(R"(/(?:core-[\d.]+|lib64|lib/x86_64-linux-gnu|bin/\.\./lib)\b)");
  RE2::GlobalReplace(&folder, release, "/opt/rocm");
  RE2::GlobalReplace(&folder, core, "/lib");
  return folder;
}

// One process has two files of the same library, of a wheel and of the system, or of two trees:
// each has its own state, and each finds the other's in the way.
std::optional<Hypothesis> find_two_copies(const LogSubject& subject) {
  for (const Observation* one : subject.log.of("library-in-process")) {
    for (const Observation* other : subject.log.of("library-in-process")) {
      if (other->line <= one->line || other->log != one->log) continue;
      if (other->value("library") != one->value("library")) continue;
      if (own_folder(std::string(other->value("folder"))) ==
          own_folder(std::string(one->value("folder")))) {
        continue;
      }
      Hypothesis mismatch = make_mismatch(subject, *one);
      const bool fails = subject.log.first_with(knowledge::Role::failure) != nullptr ||
                         subject.log.first_with(knowledge::Role::consequence) != nullptr;
      mismatch.confidence = fails ? 0.75 : 0.65;
      mismatch.title =
          fmt::format("The process has lib{} twice: from {} and from {}", one->value("library"),
                      one->value("folder"), other->value("folder"));
      mismatch.reasons.emplace_back(
          "Two copies of one library in a process have a state each, and calls go to either of "
          "them. Devices are then missing, or the process crashes.");
      mismatch.evidence.push_back(show(subject, *other, logs::describe(*other)));
      mismatch.fix = {
          sentence("See which package brings the second copy: pip list | grep -iE "
                   "'rocm|amdsmi|torch'; echo $LD_LIBRARY_PATH $LD_PRELOAD"),
          sentence("Remove it, or install the one that belongs to the same ROCm as the rest. A "
                   "wheel for ROCm has its own libraries and needs none of the system's.")};
      return mismatch;
    }
  }
  return std::nullopt;
}

bool is_of_wheel(std::string_view folder) {
  return folder.find("-packages/") != std::string_view::npos;
}

// A process that died has the runtime of one installation above the runtime of another: a wheel's
// HIP calls the system's HSA.
std::optional<Hypothesis> find_mixed_runtime(const LogSubject& subject) {
  const Observation* died = subject.log.first_of({"segfault", "aborted", "rocm-crash-frame"});
  if (died == nullptr) return std::nullopt;
  const Observation *of_wheel = nullptr, *of_system = nullptr;
  for (const Observation* one : subject.log.of("library-in-process")) {
    const std::string_view library = one->value("library");
    const bool is_runtime = library == "amdhip64" || library == "hsa-runtime64" ||
                            library == "amd_comgr" || library == "hiprtc";
    if (!is_runtime) continue;
    const Observation*& place = is_of_wheel(one->value("folder")) ? of_wheel : of_system;
    if (place == nullptr) place = one;
  }
  if (of_wheel == nullptr || of_system == nullptr) return std::nullopt;
  Hypothesis mismatch = make_mismatch(subject, *of_system);
  mismatch.confidence = 0.78;
  mismatch.title = fmt::format("The wheel's lib{} runs on lib{} of another installation",
                               of_wheel->value("library"), of_system->value("library"));
  mismatch.reasons.emplace_back(
      "A wheel for ROCm brings its whole runtime. Here one part of it comes from a folder of the "
      "system, so two releases of ROCm are mixed in one process.");
  mismatch.evidence.push_back(show(subject, *of_wheel, logs::describe(*of_wheel)));
  mismatch.fix.insert(
      mismatch.fix.begin(),
      sentence("Take the system's ROCm out of LD_LIBRARY_PATH and LD_PRELOAD for this program, or "
               "install the wheel that was built for the system's release."));
  return mismatch;
}

}  // namespace

std::optional<Hypothesis> find_mismatched_library(const LogSubject& subject) {
  std::optional<Hypothesis> best;
  for (const auto* seen : subject.log.of("shared-library-missing")) {
    take_surer(find_library(subject, *seen), best);
    take_surer(find_other_number(subject, *seen), best);
  }
  for (const auto* seen : subject.log.of("rocm-file-not-loaded")) {
    take_surer(find_second_tree(subject, *seen), best);
  }
  for (const auto* wanted : subject.log.of("soname-wanted")) {
    take_surer(find_wanted_number(subject, *wanted), best);
  }
  take_surer(find_lent_library(subject), best);
  take_surer(find_two_copies(subject), best);
  take_surer(find_mixed_runtime(subject), best);
  take_surer(find_other_release(subject), best);
  return best;
}

}  // namespace headroom::findings
