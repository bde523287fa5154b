// SPDX-License-Identifier: Apache-2.0
// The stages of a pipeline's call. A recording marks them by phases of a step, which has none of
// them otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/policy.h"
#include "base/result.h"
#include "estimate/tape.h"

namespace headroom::estimate::diffusion {

enum class Stage : std::uint8_t { load, encode, denoise, decode };
inline constexpr std::array<Stage, 4> all_stages = {Stage::load, Stage::encode, Stage::denoise,
                                                    Stage::decode};

constexpr Phase phase_of(Stage stage) {
  constexpr std::array<Phase, 4> marks = {Phase::load, Phase::forward, Phase::generate,
                                          Phase::optimizer};
  return marks[static_cast<std::size_t>(stage)];
}

// "load", "encode", "denoise", "decode"
constexpr std::string_view to_string(Stage stage) {
  constexpr std::array<std::string_view, 4> names = {"load", "encode", "denoise", "decode"};
  return names[static_cast<std::size_t>(stage)];
}

// torch.cuda.empty_cache(), which accelerate calls when it has moved a model out: a tensor without
// bytes marks it.
void mark_emptied_cache(Tape& tape);

struct StagePeaks {
  allocator::Usage usage;                // At the end; peaks are of the whole call.
  std::array<std::uint64_t, 4> bytes{};  // The most that was live in each stage.
  Stage at = Stage::load;                // When the most was.
  std::vector<std::uint32_t> live;       // The tensors at that moment, largest first.
  std::optional<std::uint32_t> failed;   // The tensor that found no room: the replay ended there.
};

// Replays a recording as PyTorch's allocator would hold it (`policy`: "torch", …). Where the cache
// is emptied what is live goes on in a fresh one. Without a capacity the device has no end. Fails
// on an unknown policy.
Result<StagePeaks> replay_stages(const Recording& recording, const std::string& policy,
                                 std::optional<std::uint64_t> capacity = std::nullopt);

}  // namespace headroom::estimate::diffusion
