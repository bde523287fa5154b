// SPDX-License-Identifier: Apache-2.0
#include "trainer/step_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "trainer/evaluation.h"
#include "trainer/gradient_norm.h"
#include "trainer/micro_batch.h"
#include "trainer/step.h"

namespace headroom::trainer {
namespace {

constexpr std::uint64_t dropout_seed = 3;  // Of the uses of the job's seed (training.cpp).
// Besides the checkpoint at the end of every epoch: what a power cut may cost.
constexpr double checkpoint_interval_s = 300;
// Micro-batches of an evaluation of a split model between two moments at which it can be stopped.
constexpr std::size_t evaluated_at_once = 16;

using Pieces = std::vector<FittingBatches::Piece>;

}  // namespace

StepWork::StepWork(const With& with)
    : with_(with),
      shared_(with.ranks, with.output, with.observer),
      batches_(with.memory, with.observer, with.settings.batch.micro,
               with.samples.training.is_packed() ? "rows" : "samples"),
      stages_(with.ranks, with.memory, batches_, with.observer) {}

std::uint64_t StepWork::dropout_seed_of(std::uint64_t steps, std::size_t batch,
                                        std::size_t part) const {
  const std::uint64_t own =
      mix_seed(mix_seed(mix_seed(with_.settings.seed, dropout_seed), steps), batch);
  return part == 0 ? own : mix_seed(own, part);
}

bool StepWork::checkpoint_is_due() const {
  return with_.output.seconds_since_checkpoint() > checkpoint_interval_s;
}

bool StepWork::wants_stop() const {
  return with_.ranks.is_split() ? stages_.wants_stop() : shared_.wants_stop();
}

bool StepWork::wants_checkpoint() const {
  return with_.ranks.is_split() ? stages_.wants_checkpoint() : checkpoint_is_due();
}

Result<double> StepWork::compute_gradients(Model& model, const data::StepSamples& step,
                                           double scale, std::uint64_t steps) {
  if (with_.ranks.is_split()) return pass_stages(model, step, scale, steps);
  const auto part = [&](std::size_t first, std::size_t last) -> Result<std::vector<double>> {
    const auto piece = [&](const auto& indices, std::size_t batch,
                           std::size_t number) -> Result<double> {
      HEADROOM_TRY(const MicroBatch micro, data::make_micro_batch(with_.samples.training, indices));
      return train_micro_batch(model, micro, scale, dropout_seed_of(steps, first + batch, number));
    };
    const auto own = std::span(step.micro_batches).subspan(first, last - first);
    HEADROOM_TRY(const double loss,
                 batches_.run(own, steps + 1, piece, [&] { drop_gradients(model.trainable()); }));
    return std::vector<double>{loss};
  };
  HEADROOM_TRY(const auto sums,
               shared_.do_all(step.micro_batches.size(), part, steps, &model.trainable()));
  return sums.front();
}

Result<double> StepWork::pass_stages(Model& model, const data::StepSamples& step, double scale,
                                     std::uint64_t steps) {
  Pipeline pipeline(with_.ranks, model);
  const auto attempt = [&](const Pieces& pieces) {
    return pipeline.train(
        pieces.size(),
        [&](std::size_t i) {
          return data::make_micro_batch(with_.samples.training, pieces[i].samples);
        },
        scale,
        [&](std::size_t i) { return dropout_seed_of(steps, pieces[i].batch, pieces[i].part); });
  };
  const bool is_due = with_.ranks.leads() && checkpoint_is_due();
  HEADROOM_TRY(const double loss, stages_.run(step.micro_batches, steps + 1, is_due, attempt,
                                              [&] { drop_gradients(model.trainable()); }));
  if (!model.config().tied || model.options().lora) return loss;
  // The embedding and its copy move alike: each gets the gradients of both.
  const estimate::StagePart& part = model.part();
  const at::Tensor own = part.is_first()  ? model.embedding().grad
                         : part.is_last() ? model.head().grad
                                          : at::Tensor();
  HEADROOM_CHECK(with_.ranks.add_up(own, model.options().dtype,
                                    model.config().vocabulary * model.config().hidden));
  return loss;
}

Result<double> StepWork::gradient_norm(Model& model) {
  if (!with_.ranks.is_split()) return trainer::gradient_norm(model.trainable());
  HEADROOM_TRY(const auto told, with_.ranks.tell({sum_of_squares(model.trainable())}));
  if (!told) return ended_by_another_rank();
  double sum = 0;
  for (const Told& one : *told) sum += one.numbers.front();
  return std::sqrt(sum);
}

Result<std::optional<double>> StepWork::evaluate(Model& model, std::uint64_t steps) {
  if (with_.ranks.is_split()) return evaluate_stages(model, steps);
  const std::uint64_t micro = with_.settings.batch.micro;
  const data::SampleSet& samples = with_.samples.evaluation;
  const auto part = [&](std::size_t first, std::size_t last) -> Result<std::vector<double>> {
    HEADROOM_TRY(const EvaluatedPart done,
                 trainer::evaluate(model, samples, {micro, first, last, steps}, batches_,
                                   [this] { return with_.observer.wants_stop(); }));
    return std::vector<double>{done.loss, done.targets, done.is_whole ? 0.0 : 1.0};
  };
  HEADROOM_TRY(const auto sums,
               shared_.do_all(count_evaluations(samples.rows(), micro), part, steps));
  return sums[2] > 0 ? std::nullopt : std::optional(sums[0] / sums[1]);
}

Result<std::optional<double>> StepWork::evaluate_stages(Model& model, std::uint64_t steps) {
  const data::SampleSet& samples = with_.samples.evaluation;
  const std::uint64_t micro = with_.settings.batch.micro;
  std::vector<std::size_t> order(samples.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Pipeline pipeline(with_.ranks, model);
  const auto attempt = [&](const Pieces& pieces) {
    return pipeline.evaluate(pieces.size(), [&](std::size_t i) {
      return data::make_micro_batch(samples, pieces[i].samples);
    });
  };
  double loss = 0, targets = 0;
  for (std::size_t first = 0; first < samples.rows(); first += evaluated_at_once * micro) {
    const data::StepSamples step =
        data::make_step(samples, order, first, {.micro = micro, .accumulate = evaluated_at_once});
    HEADROOM_TRY(const double one, stages_.run(step.micro_batches, steps, false, attempt, [] {}));
    loss += one;
    targets += static_cast<double>(step.targets);
    if (stages_.wants_stop()) return std::optional<double>();
  }
  return std::optional(loss / targets);
}

}  // namespace headroom::trainer
