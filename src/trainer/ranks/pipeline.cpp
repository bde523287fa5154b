// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/pipeline.h"

#include <ATen/ATen.h>

#include <deque>

#include "estimate/pipeline.h"
#include "trainer/torch_memory.h"

namespace headroom::trainer {
namespace {

using estimate::StagePass;

// A neighbour that has gone ends this process too.
template <class Value>
Result<Value> or_another_ended(Result<Value> result) {
  if (!result && result.error().code == Errc::io) return ended_by_another_rank();
  return result;
}

// A piece between its two passes, and what the second one needs to know of it.
struct InFlight {
  InFlight(Model& model, const MicroBatch& micro, double scale, std::uint64_t seed)
      : rows(micro.ids.size(0)), run(model, micro, scale, seed) {}
  std::int64_t rows;
  StageRun run;
};

}  // namespace

std::uint64_t message_bytes(const estimate::ModelConfig& config, const ModelOptions& options,
                            std::uint64_t samples) {
  return samples * static_cast<std::uint64_t>(options.longest) * config.hidden *
         c10::elementSize(options.dtype);
}

Result<std::optional<at::Tensor>> Pipeline::receive(std::uint32_t from, std::int64_t rows) {
  const TagScope scope(allocator::Component::activations);
  at::Tensor tensor =
      at::empty({rows, static_cast<std::int64_t>(model_.config().hidden)}, model_.options().dtype);
  HEADROOM_TRY(const bool whole,
               or_another_ended(ranks_.streams().receive(
                   from, static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes())));
  if (!whole) return std::optional<at::Tensor>();
  return std::optional(std::move(tensor));
}

Result<bool> Pipeline::send(std::uint32_t to, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  return or_another_ended(
      ranks_.streams().send(to, static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()));
}

Result<std::optional<double>> Pipeline::train(
    std::size_t pieces, const Read& read, double scale,
    const std::function<std::uint64_t(std::size_t)>& seed) {
  const estimate::StagePart& part = model_.part();
  std::deque<InFlight> in_flight;
  double loss = 0;
  for (const auto& [pass, piece] :
       estimate::one_forward_one_backward(part.stage, part.stages, pieces)) {
    const bool forward = pass == StagePass::forward;
    if (forward) {
      HEADROOM_TRY(const MicroBatch micro, read(piece));
      in_flight.emplace_back(model_, micro, scale, seed(piece));
    }
    InFlight& one = forward ? in_flight.back() : in_flight.front();
    std::optional<at::Tensor> received = at::Tensor();
    if (forward ? !part.is_first() : !part.is_last()) {
      HEADROOM_TRY(received, receive(forward ? part.stage - 1 : part.stage + 1, one.rows));
      if (!received) return std::optional<double>();
    }
    const at::Tensor made =
        forward ? one.run.forward(*std::move(received)) : one.run.backward(*std::move(received));
    if (made.defined()) {
      HEADROOM_TRY(const bool whole, send(forward ? part.stage + 1 : part.stage - 1, made));
      if (!whole) return std::optional<double>();
    }
    if (forward) continue;
    loss += one.run.loss();
    in_flight.pop_front();
  }
  return std::optional(loss);
}

Result<std::optional<double>> Pipeline::evaluate(std::size_t pieces, const Read& read) {
  const estimate::StagePart& part = model_.part();
  double loss = 0;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    HEADROOM_TRY(const MicroBatch micro, read(piece));
    std::optional<at::Tensor> received = at::Tensor();
    if (!part.is_first()) {
      HEADROOM_TRY(received, receive(part.stage - 1, micro.ids.size(0)));
      if (!received) return std::optional<double>();
    }
    at::Tensor hidden = forward_only(model_, micro, *std::move(received));
    if (part.is_last()) {
      loss += evaluate_head(model_, micro, std::move(hidden));
      continue;
    }
    HEADROOM_TRY(const bool whole, send(part.stage + 1, hidden));
    if (!whole) return std::optional<double>();
  }
  return std::optional(loss);
}

}  // namespace headroom::trainer
