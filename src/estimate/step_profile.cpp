// SPDX-License-Identifier: Apache-2.0
#include "estimate/step_profile.h"

#include <algorithm>
#include <utility>

#include "allocator/models/make_policy.h"
#include "base/bytes.h"
#include "estimate/optimizer.h"
#include "estimate/tape.h"
#include "estimate/transformers/engine.h"

namespace headroom::estimate {
namespace {

constexpr std::uint64_t block_bytes = 512;  // What allocators round to.
constexpr double too_large = static_cast<double>(allocator::unlimited_capacity_bytes);

std::uint64_t rounded(std::uint64_t bytes) {
  return round_up(std::max<std::uint64_t>(bytes, 1), block_bytes);
}

// An optimizer that does nothing but let go of the gradients.
Job without_optimizer(Job job, std::uint64_t micro) {
  job.optimizer.kind = OptimizerKind::sgd;
  job.optimizer.master = Master::none;
  job.optimizer.offload = false;
  job.batch.micro = micro;
  job.batch.accumulate = 1;
  return job;
}

bool alike(const Recording& a, const Recording& b) {
  return a.tensors.size() == b.tensors.size() &&
         std::equal(a.events.begin(), a.events.end(), b.events.begin(), b.events.end(),
                    [](const Event& x, const Event& y) {
                      return x.kind == y.kind && x.tensor == y.tensor && x.phase == y.phase;
                    });
}

bool is_weight(const RecordedTensor& tensor) {
  return tensor.component == Component::weights || tensor.component == Component::adapters;
}

// Bytes beside a product, which no kernel gives as its result.
bool is_workspace(const RecordedTensor& tensor) {
  return tensor.component == Component::workspace && tensor.meta.element == Element::uint8;
}

}  // namespace

OptimizerProfile profile_optimizer(const Job::Optimizer& settings,
                                   const std::vector<Meta>& trainable) {
  Recorder recorder;
  std::uint64_t parameters = 0;
  {
    Tape tape(recorder);
    for (const Meta& meta : trainable) {
      tape.parameter("parameter", meta, Component::weights, true);
      parameters += rounded(meta.bytes());
    }
    Optimizer optimizer(settings);
    optimizer.prepare(tape, tape.trainable());
    tape.set_phase(Phase::optimizer);
    optimizer.step(tape, tape.trainable());
    Optimizer::zero_grad(tape.trainable());
    tape.set_phase(Phase::generate);  // A mark for what remains.
    const Tensor mark = tape.empty("mark", {{1}, Element::uint8}, Component::other);
  }
  const Recording recording = recorder.take();
  OptimizerProfile profile;
  std::uint64_t live = 0;
  for (const Event& event : recording.events) {
    if (event.phase == Phase::generate) break;
    const std::uint64_t bytes = rounded(recording.tensors[event.tensor].meta.bytes());
    if (event.kind == Event::Kind::allocate) live += bytes;
    if (event.kind == Event::Kind::release) live -= bytes;
    if (event.phase == Phase::load) profile.masters_bytes = live - parameters;
    profile.step_bytes =
        std::max(profile.step_bytes, live - std::min(live, parameters + profile.masters_bytes));
    profile.states_bytes = live - std::min(live, parameters + profile.masters_bytes);
  }
  return profile;
}

std::uint64_t peak_of(const Taking& taking, const OptimizerProfile& optimizer, bool accumulates) {
  const std::uint64_t pass = accumulates
                                 ? std::max(taking.first_peak_bytes, taking.later_peak_bytes)
                                 : taking.first_peak_bytes;
  if (pass == UINT64_MAX) return pass;
  return optimizer.masters_bytes +
         std::max(pass + optimizer.states_bytes, taking.after_bytes + optimizer.step_bytes);
}

Taking StepProfile::measure(const Recording& recording, const std::vector<Size>& sizes,
                            std::uint64_t micro) {
  std::vector<std::uint64_t> bytes(recording.tensors.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const double size = sizes[i].fixed + sizes[i].per_sample * static_cast<double>(micro);
    if (size > too_large) return {UINT64_MAX, UINT64_MAX, UINT64_MAX, size, 1};
    bytes[i] = rounded(static_cast<std::uint64_t>(size));
  }
  Taking taking;
  std::uint64_t live = 0;
  std::uint64_t gradients = 0;        // Those that have arrived so far.
  std::uint64_t before_they_did = 0;  // Peak of what is live without them.
  for (const Event& event : recording.events) {
    const std::uint64_t size = bytes[event.tensor];
    if (event.phase == Phase::optimizer) break;
    switch (event.kind) {
      case Event::Kind::allocate:
        live += size;
        if (event.phase == Phase::load || is_workspace(recording.tensors[event.tensor])) break;
        taking.written_bytes += static_cast<double>(size);
        taking.kernels += 1;
        break;
      case Event::Kind::release:
        live -= size;
        break;
      case Event::Kind::retag:
        if (event.component == Component::gradients) gradients += size;
        break;
    }
    taking.first_peak_bytes = std::max(taking.first_peak_bytes, live);
    before_they_did = std::max(before_they_did, live - gradients);
  }
  taking.after_bytes = live;
  taking.later_peak_bytes = before_they_did + gradients;
  return taking;
}

Result<StepProfile> StepProfile::make(const Job& job, const Architecture& model,
                                      const Device& device) {
  StepProfile profile(job, model, device);
  HEADROOM_TRY(profile.recording_,
               record_transformers(without_optimizer(job, 1), model, device, 1));
  HEADROOM_TRY(const Recording two,
               record_transformers(without_optimizer(job, 2), model, device, 1));
  const auto& tensors = profile.recording_.tensors;
  const Component trained =
      job.method.kind == MethodKind::full ? Component::weights : Component::adapters;
  for (const RecordedTensor& tensor : tensors) {
    if (is_weight(tensor)) profile.weights_bytes_ += tensor.meta.bytes();
    if (tensor.component == trained) profile.trainable_.push_back(tensor.meta);
  }
  if (!alike(profile.recording_, two)) return profile;
  profile.sizes_.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto one_sample = static_cast<double>(tensors[i].meta.bytes());
    const auto two_samples = static_cast<double>(two.tensors[i].meta.bytes());
    profile.sizes_.push_back({2 * one_sample - two_samples, two_samples - one_sample});
  }
  return profile;
}

Result<Taking> StepProfile::at(std::uint64_t micro) const {
  if (!sizes_.empty()) return measure(recording_, sizes_, micro);
  HEADROOM_TRY(const Recording recording,
               record_transformers(without_optimizer(job_, micro), *model_, *device_, 1));
  std::vector<Size> sizes;
  for (const RecordedTensor& tensor : recording.tensors)
    sizes.push_back({static_cast<double>(tensor.meta.bytes()), 0});
  return measure(recording, sizes, micro);
}

}  // namespace headroom::estimate
