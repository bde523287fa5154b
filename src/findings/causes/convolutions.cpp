// SPDX-License-Identifier: Apache-2.0
#include "findings/causes/convolutions.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text.h"

namespace headroom::findings {
namespace {

using logs::Observation;

// The largest workspace that MIOpen wanted and was not given; nullptr if it never complained.
const Observation* largest_workspace(const logs::Observations& log) {
  const Observation* largest = nullptr;
  std::uint64_t most = 0;
  for (const Observation* one : log.of("miopen-workspace-short")) {
    const auto bytes = parse_u64(one->value("required"));
    if (!bytes || *bytes < most) continue;
    most = *bytes;
    largest = one;
  }
  return largest;
}

}  // namespace

void advise_convolutions(const LogSubject& subject, Hypothesis& big) {
  const logs::Observations& log = subject.log;
  const Observation* frame = log.first("frame-in-convolution");
  const Observation* decoding = log.first("vae-decoding");
  if (frame == nullptr && decoding == nullptr) return;
  big.reasons.emplace_back(
      "It failed in a convolution. While MIOpen searches for the fastest algorithm, it tries some "
      "that need many times the memory of the images, so the workspace peaks for a short time.");
  if (const Observation* workspace = largest_workspace(log)) {
    const auto bytes = parse_u64(workspace->value("required"));
    big.evidence.push_back(
        show(subject, *workspace,
             fmt::format("a workspace of {}", to_string(Bytes{bytes.value_or(0)}))));
  } else if (frame != nullptr) {
    big.evidence.push_back(show(subject, *frame, "the convolution"));
  }
  if (decoding != nullptr) {
    big.fix.insert(big.fix.begin(),
                   sentence("Decode in tiles (ComfyUI's node \"VAE Decode (Tiled)\", diffusers' "
                            "pipe.vae.enable_tiling()) and in bf16 (ComfyUI --bf16-vae)."));
  }
  big.fix.insert(
      big.fix.begin(),
      command(
          "export MIOPEN_FIND_MODE=FAST",
          "(uses a known algorithm, or one that needs little memory, without trying them all)"));
}

}  // namespace headroom::findings
