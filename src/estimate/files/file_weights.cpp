// SPDX-License-Identifier: Apache-2.0
#include "estimate/files/file_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace headroom::estimate {
namespace {

constexpr std::uint32_t gone = UINT32_MAX;

// Which tensors are an engine's weights: allocated as such on loading.
std::vector<bool> find_weights(const Recording& recording) {
  std::vector<bool> is_weight(recording.tensors.size());
  for (const Event& event : recording.events) {
    if (event.kind == Event::Kind::allocate && event.phase == Phase::load)
      is_weight[event.tensor] = event.component == Component::weights;
  }
  return is_weight;
}

}  // namespace

bool hold_their_weights(const WeightFile& file, const Job& job) {
  return job.method.kind == MethodKind::inference &&
         (is_packed(file) || plain_type(job.method.base).has_value());
}

void hold_file_weights(Recording& recording, const WeightFile& file, DType dtype) {
  const std::vector<bool> is_weight = find_weights(recording);
  const std::size_t events = recording.events.size();
  Recorder recorder(std::move(recording));  // Names keep pointing into its texts.
  recorder.enter(Phase::load);
  for (const StoredTensor& tensor : file.tensors) {
    const Meta meta = loaded_as(tensor, file.format, dtype);
    if (meta.bytes() > 0)
      recorder.allocate(recorder.intern(tensor.name), 0, meta, Component::weights);
  }
  recording = recorder.take();
  // What is loaded comes first; the engine's own weights go.
  const auto added = static_cast<std::ptrdiff_t>(events);
  std::rotate(recording.events.begin(), recording.events.begin() + added, recording.events.end());
  std::vector<std::uint32_t> places(recording.tensors.size(), gone);
  std::vector<RecordedTensor> kept;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    if (i < is_weight.size() && is_weight[i]) continue;
    places[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(recording.tensors[i]);
  }
  recording.tensors = std::move(kept);
  std::erase_if(recording.events, [&](const Event& event) { return places[event.tensor] == gone; });
  for (Event& event : recording.events) event.tensor = places[event.tensor];
}

}  // namespace headroom::estimate
