// SPDX-License-Identifier: Apache-2.0
#include "estimate/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/require.h"
#include "estimate/engine_support.h"
#include "estimate/files/file_weights.h"
#include "estimate/headroom_engine.h"
#include "estimate/model_config.h"
#include "estimate/onnx_engine.h"
#include "estimate/stages.h"
#include "estimate/transformers/engine.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t recorded_steps = 2;

// As record_transformers() does: a table of positions has an end.
Status check_positions(const Job& job, const ModelConfig& model) {
  const std::uint64_t rows = model.position_rows;
  if (!model.is_gpt2() || job.batch.sequence <= rows) return Done{};
  return Error{Errc::invalid,
               fmt::format("expected at most {}, the positions that the model has, found {}", rows,
                           job.batch.sequence),
               fmt::format("write sequence = {}", rows)}
      .at("batch.sequence");
}

}  // namespace

std::vector<std::uint32_t> live_after(const Recording& recording, std::size_t position) {
  std::vector<std::uint8_t> is_live(recording.tensors.size());
  for (std::size_t i = 0; i <= position && i < recording.events.size(); ++i) {
    const Event& event = recording.events[i];
    if (event.kind != Event::Kind::retag)
      is_live[event.tensor] = event.kind == Event::Kind::allocate ? 1 : 0;
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_size;
  for (std::uint32_t tensor = 0; tensor < is_live.size(); ++tensor) {
    if (is_live[tensor] != 0) by_size.emplace_back(recording.tensors[tensor].bytes, tensor);
  }
  std::sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<std::uint32_t> live;
  live.reserve(by_size.size());
  for (const auto& [bytes, tensor] : by_size) live.push_back(tensor);
  return live;
}

Peak replay(const Recording& recording, allocator::Policy& policy) {
  Peak peak;
  std::vector<allocator::Address> addresses(recording.tensors.size());
  std::size_t peak_position = 0;
  std::uint64_t peak_bytes = policy.usage().live_peak_bytes;
  const auto note = [&](Phase phase) {
    std::uint64_t& most = peak.phases[static_cast<std::size_t>(phase)];
    most = std::max(most, policy.usage().live_bytes);
  };
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const Event& event = recording.events[i];
    if (i == 0 || event.phase != recording.events[i - 1].phase) note(event.phase);
    if (event.kind == Event::Kind::release) {
      policy.free(addresses[event.tensor]);
    } else if (event.kind == Event::Kind::retag) {
      policy.retag(addresses[event.tensor], event.component);
    } else {
      const auto address =
          policy.allocate({recording.tensors[event.tensor].bytes, event.component, 0});
      if (!address) {
        peak.failed = event.tensor;
        break;
      }
      addresses[event.tensor] = *address;
      note(event.phase);
      const std::uint64_t reached = policy.usage().live_peak_bytes;
      if (reached > peak_bytes) {
        peak_bytes = reached;
        peak_position = i;
        peak.at = event.phase;
      }
    }
  }
  peak.usage = policy.usage();
  peak.live = live_after(recording, peak_position);
  return peak;
}

Result<Recording> record_step(const Job& job, const Architecture& model, const Device& device) {
  require(job.batch.micro && job.compute.attention,
          "a step that is recorded has its micro-batch and its attention kernel");
  if (model.graph) return record_onnx(job, *model.graph);
  HEADROOM_CHECK(check_engine(job));
  if (job.engine.kind == EngineKind::transformers) {
    HEADROOM_TRY(Recording recording, record_transformers(job, model, device, recorded_steps));
    if (model.weights && hold_their_weights(*model.weights, job))
      hold_file_weights(recording, *model.weights,
                        plain_type(job.method.base).value_or(job.compute.dtype));
    return recording;
  }
  HEADROOM_TRY(const ModelConfig decoder, decoder_config(model));
  HEADROOM_CHECK(check_positions(job, decoder));
  if (job.engine.stages > 1) return record_largest_stage(job, decoder, recorded_steps);
  return record_headroom(job, decoder, recorded_steps);
}

}  // namespace headroom::estimate
