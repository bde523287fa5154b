// SPDX-License-Identifier: Apache-2.0
// python-version-unsupported: pip finds no wheel because there is none for this Python. "from
// versions: none" also follows from a wrong index or no network, so the interpreter's version
// decides.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "facts/kernel_text.h"
#include "findings/causes/causes.h"
#include "findings/causes/pip_search.h"
#include "findings/scene_text.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

std::optional<std::uint64_t> minor_of(std::string_view version) {
  const auto parts = split(trim(version), '.');
  if (parts.size() < 2 || parts[0] != "3") return std::nullopt;
  return parse_u64(parts[1]);
}

// Whether each of the package's wheels is compiled for one version of Python.
bool is_compiled_package(std::string_view package) {
  for (const std::string_view known :
       {"torch", "torchvision", "torchaudio", "triton", "pytorch-triton-rocm", "tensorflow",
        "tensorflow-rocm", "jaxlib", "onnxruntime", "onnxruntime-rocm", "onnxruntime-migraphx",
        "vllm", "xformers", "rocm", "rocm-sdk-core", "bitsandbytes", "numpy", "flash-attn"}) {
    if (package == known) return true;
  }
  return false;
}

// The newest minor version of Python with wheels for a ROCm release, from PyTorch's wheel indexes.
std::uint64_t newest_for_rocm(const std::string& release) {
  const auto version = facts::parse_kernel_version(release);
  if (!version) return 13;
  const auto major = (*version)[0];
  const auto minor = (*version)[1];
  if (major < 5) return 9;
  if (major == 5) return minor >= 5 ? 11 : 10;
  if (major == 6 && minor < 2) return 12;
  return 13;
}

// The newest minor version of Python for what AMD's own folders and PyPI have of other packages:
// rocm.docs.amd.com, "Installing TensorFlow for ROCm", and repo.radeon.com/rocm/manylinux. Up to
// ROCm 6.2 there are wheels for 3.10 (TensorFlow: also 3.9), from 6.3 on for 3.10 and 3.12. PyPI
// has TensorFlow up to ROCm 6.0, for 3.10 and, since 2024, for 3.11
// (ROCm/tensorflow-upstream#2146). Certain for PyPI and for ROCm 6.2; the ranges of AMD's later
// folders were not looked up one by one.
std::uint64_t newest_of(std::string_view package, std::string_view index,
                        const std::string& release) {
  const bool of_amd = index.find("repo.radeon.com") != std::string_view::npos;
  const bool of_pypi = index.empty() || index.find("pypi.org") != std::string_view::npos;
  if (of_pypi && package == "tensorflow-rocm") return 10;
  const auto version = facts::parse_kernel_version(release);
  if (!of_amd || !version) return newest_for_rocm(release);
  const auto at = std::pair((*version)[0], (*version)[1]);
  return at < std::pair(6U, 3U) ? 10 : at < std::pair(7U, 1U) ? 12 : 13;
}

// Returns 6.1 for "…/whl/rocm6.1".
std::string rocm_of_index(std::string_view index) {
  const std::size_t at = index.rfind("rocm");
  if (at == std::string_view::npos) return "";
  return version_in(index.substr(at + 4)).value_or("");
}

struct Judged {
  double confidence = 0;
  std::string reason;
  std::uint64_t newest = 12;
};

// "pytorch_triton_rocm" and "pytorch-triton-rocm" are one package.
std::string normalized(std::string_view package) {
  std::string name = to_lower(package);
  std::replace(name.begin(), name.end(), '_', '-');
  std::replace(name.begin(), name.end(), '.', '-');
  return name;
}

// Finds a wheel of the package in the log that is for another Python.
const Observation* other_wheel(const LogSubject& subject, std::string_view package,
                               std::uint64_t minor) {
  const Observation* other = nullptr;
  for (const Observation* wheel : subject.log.of("wheel-named")) {
    if (normalized(wheel->value("name")) != normalized(package)) continue;
    const auto its = parse_u64(wheel->value("minor"));
    if (its && *its == minor) return nullptr;
    if (its) other = wheel;
  }
  return other;
}

bool names_wheel_for(const LogSubject& subject, std::string_view package, std::uint64_t minor) {
  const auto wheels = subject.log.of("wheel-named");
  return std::any_of(wheels.begin(), wheels.end(), [&](const Observation* wheel) {
    return normalized(wheel->value("name")) == normalized(package) &&
           parse_u64(wheel->value("minor")) == minor;
  });
}

Judged judge_search(const LogSubject& subject, const Observation& seen) {
  std::string package(seen.value("package"));
  if (package.empty()) package = seen.value("wanted");
  // PyPI answers so whatever the Python is; wrong-wheel reports it.
  if (!is_compiled_package(to_lower(package)) || asked_at_wrong_index(seen)) return {};
  // What is listed there is for this Python.
  if (asked_for_what_is_gone(seen) || asked_at_older_index(seen)) return {};
  Judged judged;
  const Observation* index = subject.log.first("pip-index");
  std::string release = index != nullptr ? rocm_of_index(index->value("index")) : "";
  if (release.empty()) release = rocm_of_index(seen.value("asked"));
  judged.newest =
      newest_of(normalized(package), index != nullptr ? index->value("index") : "", release);
  const bool none = seen.value("versions").empty() || seen.value("versions") == "none";
  const auto minor = subject.scene.python ? minor_of(*subject.scene.python) : std::nullopt;
  if (!minor) {
    judged.confidence = none ? 0.5 : 0.3;
    judged.reason =
        "The log does not show the Python version. The usual reason is a Python that is too new.";
  } else if (const Observation* other = other_wheel(subject, package, *minor)) {
    judged.newest = parse_u64(other->value("minor")).value_or(judged.newest);
    judged.confidence = none ? 0.93 : 0.75;
    judged.reason =
        fmt::format("The log names a wheel of {} for Python 3.{}, and this is Python {}.", package,
                    judged.newest, *subject.scene.python);
  } else if (*minor > judged.newest && !names_wheel_for(subject, package, *minor)) {
    judged.confidence = none ? 0.9 : 0.75;
    judged.reason =
        fmt::format("That index has wheels of {} for Python up to 3.{}, and this is Python {}.",
                    package, judged.newest, *subject.scene.python);
  } else if (*minor < 9) {
    judged.confidence = none ? 0.85 : 0.75;
    judged.reason =
        fmt::format("Current wheels start at Python 3.9 or 3.10, and this is Python {}.",
                    *subject.scene.python);
    judged.newest = 12;
  } else {
    // PyPI has the package, and lists the versions that fit. "none" leaves the interpreter and its
    // platform, unless the network failed, which pip says before.
    const bool at_pypi = none && index == nullptr && !subject.log.seen("network-failed") &&
                         !names_wheel_for(subject, package, *minor);
    judged.confidence = *minor == 13 || at_pypi ? 0.5 : 0.3;
    judged.reason =
        at_pypi
            ? "The package index has the package, and lists no version of it for this Python and "
              "this platform."
            : "Wheels for this Python may exist. A wrong index address looks the same.";
  }
  return judged;
}

Judged judge_wheel(const LogSubject& subject, const Observation& seen) {
  Judged judged;
  const auto tag = parse_u64(seen.value("tag").substr(3));
  if (!tag) return {};
  judged.newest = *tag;
  const auto minor = subject.scene.python ? minor_of(*subject.scene.python) : std::nullopt;
  judged.confidence = !minor ? 0.6 : *minor != *tag ? 0.92 : 0.2;
  judged.reason = fmt::format("The wheel is for Python 3.{}{}.", *tag,
                              minor ? ", and this is Python " + *subject.scene.python : "");
  return judged;
}

struct Binding {
  const Observation* seen = nullptr;
  Judged judged;
};

// A module that is there and empty, while the log names its compiled part for another Python alone:
// "libmigraphx_py_3.10.so", "_C.cpython-310-x86_64-linux-gnu.so", "x.cp310-win_amd64.pyd". Python
// passes over the parts of others without a word (PEP 3149).
std::optional<Binding> find_binding_of_another(const LogSubject& subject) {
  static const RE2 absent(
      R"(module '([a-z]\w*)' has no attribute|cannot import name '\w+' from (?:partially initialized module )?'([a-z]\w*)|No module named '([a-z]\w*))");
  const auto minor = subject.scene.python ? minor_of(*subject.scene.python) : std::nullopt;
  const auto bindings = subject.log.of("python-binding");
  if (!minor || bindings.empty()) return std::nullopt;
  for (const char* id : {"python-exception", "module-missing", "import-name-missing"}) {
    for (const Observation* error : subject.log.of(id)) {
      std::string one, other, third;
      if (!RE2::PartialMatch(error->text, absent, &one, &other, &third)) continue;
      const std::string module = one + other + third;
      std::optional<std::uint64_t> its;
      for (const Observation* binding : bindings) {
        // "…shows only _3.10.so" leaves the name to the line before.
        const std::string_view stem = binding->value("stem");
        if (!stem.empty() && stem.find(module) == std::string_view::npos) continue;
        its = parse_u64(binding->value("minor"));
        if (its == minor) return std::nullopt;
      }
      if (!its) continue;
      return Binding{error,
                     {0.8,
                      fmt::format("{}'s compiled part is there for Python 3.{} alone, and this is "
                                  "Python {}. The import finds an empty package.",
                                  module, *its, *subject.scene.python),
                      *its}};
    }
  }
  return std::nullopt;
}

std::optional<Hypothesis> find(const LogSubject& subject) {
  Judged best;
  const Observation* shown = nullptr;
  const auto take = [&](const Observation* seen, const Judged& judged) {
    if (judged.confidence <= best.confidence) return;
    best = judged;
    shown = seen;
  };
  for (const Observation* seen : subject.log.of("python-required")) {
    const bool ignored = seen->text.find("Ignored the following") != std::string::npos;
    take(seen, {ignored ? 0.6 : 0.93, "The package itself says which Python it needs.", 12});
  }
  const auto searches = subject.log.of("pip-no-version");
  // pip's second line, which lists nothing, is about the same search.
  const bool told_why = std::any_of(searches.begin(), searches.end(), [](const Observation* seen) {
    return asked_at_older_index(*seen).has_value();
  });
  for (const auto* seen : searches) {
    if (!told_why) take(seen, judge_search(subject, *seen));
  }
  if (const auto bound = find_binding_of_another(subject)) take(bound->seen, bound->judged);
  for (const auto* seen : subject.log.of("wheel-unsupported")) {
    take(seen, judge_wheel(subject, *seen));
  }
  if (shown == nullptr) return std::nullopt;
  Hypothesis python;
  python.confidence = best.confidence;
  python.title = subject.scene.python
                     ? fmt::format("There is no wheel for Python {}", *subject.scene.python)
                     : "There is no wheel for this Python";
  python.reasons.push_back(best.reason);
  python.evidence.push_back(show(subject, *shown, logs::describe(*shown)));
  if (subject.scene.python) python.evidence.push_back(show(subject.scene.python, "the Python"));
  python.fix = {
      command(fmt::format("uv venv --python 3.{} .venv && . .venv/bin/activate", best.newest)),
      sentence("Then run the same pip install again."),
      command("python3 --version; pip index versions torch --index-url URL",
              "(shows the available releases)")};
  python.alternatives = {
      {"app-bug", 0.2, "open the index address in a browser: a wrong one shows no package"}};
  return python;
}

}  // namespace

constinit const CauseRule python_version_unsupported_cause = {
    .id = "python-version-unsupported",
    .meaning = "There is no wheel for this Python, usually because it is too new.",
    .why =
        "Wheels with compiled code exist for some Python versions only. pip says that no version "
        "fits, but not why.",
    .fix = "Make a virtual environment with a Python that the wheels exist for.",
    .explains = "missing-library app-bug wrong-wheel",
    .any_vendor = true,
    .next = &NextCommand::stack,
    .find = find,
};

}  // namespace headroom::findings
