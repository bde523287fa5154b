// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/pip_index.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "facts/kernel_text.h"
#include "findings/causes/access.h"
#include "findings/causes/pip_search.h"
#include "logs/describe.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// The indexes that download.pytorch.org/whl and its folder nightly have had.
constexpr std::array indexes = {"3.7",   "3.8",   "3.10", "4.0.1", "4.1", "4.2", "4.3.1",
                                "4.5",   "4.5.2", "5.0",  "5.1.1", "5.2", "5.3", "5.4",
                                "5.4.2", "5.5",   "5.6",  "5.7",   "6.0", "6.1", "6.2",
                                "6.2.4", "6.3",   "6.4",  "7.0",   "7.1", "7.2"};

// Whether PyTorch never had an index of that release, although later ones have come and gone.
bool is_no_index(const Observation& seen) {
  if (seen.text.find("download.pytorch.org") == std::string::npos) return false;
  const std::string rocm(seen.value("torch_rocm"));
  const auto named = facts::parse_kernel_version(rocm);
  const auto newest = facts::parse_kernel_version(indexes.back());
  const bool has = std::find(indexes.begin(), indexes.end(), rocm) != indexes.end();
  return named && newest && *named < *newest && !has;
}

// Whether a line shows the build that is in use; an index alone shows none.
bool build_is_shown(const LogSubject& subject) {
  const auto& all = subject.log.all();
  return std::any_of(all.begin(), all.end(), [](const Observation& one) {
    return one.id() != "torch-wheel-index" &&
           (!one.value("torch_rocm").empty() || one.id() == "pip-installs-torch");
  });
}

}  // namespace

// pip was asked for a build for ROCm without being told where those are: what it would install
// from there is the build for CUDA.
std::optional<Hypothesis> find_wrong_index(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("pip-no-version")) {
    const auto asked = asked_at_wrong_index(*seen);
    if (!asked) continue;
    Hypothesis wrong;
    wrong.confidence = 0.9;
    wrong.title = fmt::format("pip looked for {} {}+rocm{} in an index without builds for ROCm",
                              asked->package, asked->version, asked->rocm);
    wrong.reasons = {
        "The index lists other releases, but none with \"+rocm\". It is PyPI, which has the builds "
        "for CUDA. --index-url is missing; the Python version is not the reason."};
    wrong.evidence.push_back(show(subject, *seen, logs::describe(*seen)));
    const std::string index = fmt::format("{}rocm{}", subject.tables.torch_index, asked->rocm);
    wrong.fix = {command(fmt::format("pip install {}=={}+rocm{} --index-url {}", asked->package,
                                     asked->version, asked->rocm, index)),
                 sentence(fmt::format("If pip does not find that either, see which releases there "
                                      "are: pip index versions {} --index-url {}",
                                      asked->package, index))};
    wrong.alternatives = {{"python-version-unsupported", 0.05, "python3 --version"}};
    return wrong;
  }
  return std::nullopt;
}

// An installer names a release of PyTorch and the index of a ROCm that had ended before it. Where
// it then takes what PyPI has, that is the build for CUDA.
std::optional<Hypothesis> find_older_index(const LogSubject& subject) {
  for (const Observation* seen : subject.log.of("pip-no-version")) {
    const auto asked = asked_at_older_index(*seen);
    if (!asked) continue;
    Hypothesis wrong;
    wrong.confidence = 0.7;
    wrong.title = fmt::format("There is no {} {} in the index for ROCm {}", asked->package,
                              asked->version, asked->rocm);
    wrong.reasons = {
        "The index lists builds for this Python, and all of them are older. Each release of "
        "PyTorch is built for a few releases of ROCm, so the Python version is not the reason."};
    wrong.evidence.push_back(show(subject, *seen, logs::describe(*seen)));
    wrong.fix = {
        sentence(
            fmt::format("Take the index of a ROCm that {} {} was built for, or a release that the "
                        "index has.",
                        asked->package, asked->version)),
        look("python3 -c \"import torch; print(torch.version.hip)\"", "(must not be None)")};
    wrong.alternatives = {{"python-version-unsupported", 0.1, "python3 --version"}};
    return wrong;
  }
  return std::nullopt;
}

std::optional<Hypothesis> find_index_beside_pypi(const LogSubject& subject) {
  static const RE2 beside(R"(\binstall\b.*\btorch\b.*--extra-index-url[ =])");
  const Observation* none = torch_sees_none(subject);
  if (none == nullptr || build_is_shown(subject)) return std::nullopt;
  for (const Observation* index : subject.log.of("torch-wheel-index")) {
    if (!RE2::PartialMatch(index->text, beside)) continue;
    const bool absent = is_no_index(*index);
    const std::string rocm(index->value("torch_rocm"));
    Hypothesis wrong;
    wrong.confidence = absent ? 0.76 : 0.42;
    wrong.title = absent
                      ? fmt::format("PyTorch has no index for ROCm {}: pip took PyPI's build", rocm)
                      : "pip may have taken PyPI's PyTorch, which is for CUDA";
    wrong.reasons.emplace_back(
        "--extra-index-url names an index beside PyPI, and pip takes the newest release of both. "
        "PyPI's builds are for CUDA: they install, they import, and see no AMD GPU.");
    if (absent) {
      wrong.reasons.emplace_back("An index that is not there is passed over without an error.");
    }
    wrong.evidence = {show(subject, *index, "the index is named beside PyPI"),
                      show(subject, *none, "PyTorch sees no GPU")};
    wrong.fix = {look("python3 -c \"import torch; print(torch.__version__, torch.version.hip)\"",
                      "(None, or +cu in the version: it is PyPI's build)"),
                 command("pip uninstall -y torch torchvision torchaudio"),
                 sentence(fmt::format("Install it from one index alone, one that there is: pip "
                                      "install torch --index-url {}rocmX.Y",
                                      subject.tables.torch_index))};
    wrong.alternatives = {{"device-permission", 0.2, "rocminfo as the same user; id"},
                          {"python-version-unsupported", 0.15, "python3 --version"}};
    return wrong;
  }
  return std::nullopt;
}

}  // namespace headroom::findings
