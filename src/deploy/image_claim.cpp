// SPDX-License-Identifier: Apache-2.0
#include "deploy/image_claim.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "facts/boot_tools.h"

namespace headroom::deploy {
namespace {

std::string first_match(const std::string& text, const char* pattern) {
  std::string found;
  return RE2::PartialMatch(text, pattern, &found) ? found : "";
}

GateCheck refusal(const std::string& image, std::string id, const std::string& what) {
  GateCheck check{"stack", GateCheck::Answer::refused, image + " " + what, std::nullopt};
  findings::Cause cause;
  cause.id = std::move(id);
  cause.title = check.says;
  cause.confidence = 0.85;
  cause.evidence = {{"the image's name", 0, image, what}};
  cause.fix = {findings::sentence("Choose an image of a ROCm build that supports this GPU."),
               findings::command("headroom check")};
  check.cause = std::move(cause);
  return check;
}

bool has_target(const facts::Facts& facts, const std::string& gfx) {
  return std::any_of(facts.gpus.begin(), facts.gpus.end(),
                     [&](const facts::Gpu& gpu) { return gpu.gfx && *gpu.gfx == gfx; });
}

struct FirstRelease {
  std::string version;  // Empty: not known of one of the machine's targets.
  bool about = false;   // Only about that one.
};

// The release that first listed the oldest of the machine's targets.
FirstRelease first_release(const facts::Facts& facts, const knowledge::GpuTables& tables) {
  FirstRelease first;
  for (const facts::Gpu& gpu : facts.gpus) {
    const knowledge::Target* target = gpu.gfx ? tables.target(*gpu.gfx) : nullptr;
    if (target == nullptr || !target->rocm_first) return {};
    if (first.version.empty() || facts::is_older(*target->rocm_first, first.version)) {
      first = {*target->rocm_first, target->about_first};
    }
  }
  return first;
}

}  // namespace

ImageClaim parse_image_claim(std::string_view image) {
  const std::string name = to_lower(image.substr(0, image.find('@')));
  ImageClaim claim;
  claim.rocm = first_match(name, R"(rocm[-_:v]?(\d+(?:\.\d+)+))");
  claim.torch = first_match(name, R"((?:pytorch|torch)[-_]?(?:release[-_])?v?(\d+(?:\.\d+)+))");
  claim.gfx = first_match(name, R"(\b(gfx[0-9a-f]{3,4})(?:[^0-9a-z]|$))");
  claim.cuda =
      RE2::PartialMatch(name, R"((?:^|[-_/:.])(?:cuda|cu1[0-9]{2}|nvidia)(?:[-_/:.0-9]|$))");
  claim.cpu = RE2::PartialMatch(name, R"(:(?:.*[-_.])?cpu(?:[-_.]|$))");
  return claim;
}

std::string image_without_rocm(std::string_view image) {
  // A variable with a default has a colon and dashes of its own: "${VERSION:-release}-rocm".
  const std::size_t variable = image.rfind('}');
  const std::size_t own = variable == std::string_view::npos ? 0 : variable + 1;
  if (own > 0) {
    static const RE2 suffix(R"((?i)-rocm[_v]?[0-9.]*)");
    return RE2::FullMatch(image.substr(own), suffix) ? std::string(image.substr(0, own)) : "";
  }
  const std::size_t colon = image.rfind(':');
  const bool has_tag = colon != std::string_view::npos && colon > image.rfind('/') + 1;
  if (!has_tag || image.find('@') != std::string_view::npos) return "";
  std::vector<std::string> kept;
  bool found = false;
  for (const std::string_view part : split(image.substr(colon + 1), '-')) {
    static const RE2 rocm(R"((?i)rocm[_v]?[0-9.]*)");
    if (RE2::FullMatch(part, rocm)) {
      found = true;
    } else {
      kept.emplace_back(part);
    }
  }
  if (!found || kept.empty()) return "";
  return fmt::format("{}:{}", image.substr(0, colon), join(kept, "-"));
}

GateCheck check_image(const std::string& image, const facts::Facts& facts,
                      const knowledge::GpuTables& tables) {
  const ImageClaim claim = parse_image_claim(image);
  const bool says_rocm = !claim.rocm.empty() || image.find("rocm") != std::string::npos;
  if (claim.cuda && !says_rocm) return refusal(image, "wrong-wheel", "is made for NVIDIA GPUs");
  if (claim.cpu && !says_rocm) return refusal(image, "wrong-wheel", "is made for the CPU");
  if (!claim.gfx.empty() && !facts.gpus.empty() && !has_target(facts, claim.gfx)) {
    return refusal(image, "gfx-target-missing",
                   "is made for " + claim.gfx + ", but this machine has no such GPU");
  }
  const auto [first, about] = first_release(facts, tables);
  const bool old = !claim.rocm.empty() && !first.empty() && facts::is_older(claim.rocm, first);
  if (old && !about) {
    return refusal(
        image, "gfx-target-missing",
        fmt::format("contains ROCm {}, but this GPU needs {} or later", claim.rocm, first));
  }
  GateCheck check{"stack", GateCheck::Answer::passed, "", std::nullopt};
  if (old) {
    check.answer = GateCheck::Answer::unknown;
    check.says =
        fmt::format("the image contains ROCm {}, and this GPU is supported from about {} on",
                    claim.rocm, first);
    return check;
  }
  if (claim.rocm.empty() && !says_rocm) {
    check.answer = GateCheck::Answer::unknown;
    check.says =
        "the image's name does not show what is in it; the smoke test will show whether it works";
  } else {
    check.says = claim.rocm.empty() ? "the image is a build for ROCm"
                                    : "the image contains ROCm " + claim.rocm;
  }
  return check;
}

}  // namespace headroom::deploy
