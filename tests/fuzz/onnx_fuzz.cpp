// SPDX-License-Identifier: Apache-2.0
// An ONNX file, up to the recording of one inference.
#include "base/random_access.h"
#include "estimate/onnx_engine.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

void check_recording(const estimate::Recording& recording) {
  std::vector<bool> live(recording.tensors.size());
  for (const estimate::Event& event : recording.events) {
    require(event.tensor < live.size());
    const bool begins = event.kind == estimate::Event::Kind::allocate;
    require(live[event.tensor] != begins);
    live[event.tensor] = begins;
  }
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto model = estimate::read_onnx_model(MemoryBytes(fuzz::to_text(data, size)));
  if (!model) {
    fuzz::require(!model.error().message.empty() && !model.error().next.empty());
    return 0;
  }
  fuzz::require(estimate::weights_of(*model).bytes <= INT64_MAX);
  estimate::Job job;
  job.method.kind = estimate::MethodKind::inference;
  const auto recording = estimate::record_onnx(job, *model);
  if (!recording) {
    fuzz::require(!recording.error().message.empty() && !recording.error().next.empty());
    return 0;
  }
  fuzz::check_recording(*recording);
  return 0;
}
