// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_output.h"

#include <utility>

#include "trainer/model.h"
#include "trainer/save_model.h"

namespace headroom::trainer {

Status RunOutput::open_metrics(std::uint64_t steps) {
  if (!writes()) return Done{};
  HEADROOM_TRY(metrics_, MetricsFile::open(folder_ + "/metrics.jsonl", steps));
  return Done{};
}

Status RunOutput::take_over(std::uint64_t steps) {
  HEADROOM_TRY(OutputLock lock, OutputLock::take(folder_));
  lock_.emplace(std::move(lock));
  saved_at_.reset();  // Whether the rank before came to its last one is not known.
  return open_metrics(steps);
}

Status RunOutput::add(const StepMetrics& line) {
  return metrics_ ? metrics_->add(line) : Done{};
}

Status RunOutput::add(const EvaluationMetrics& line) {
  return metrics_ ? metrics_->add(line) : Done{};
}

Status RunOutput::save_checkpoint(Model& model, Optimizer& optimizer, const RunIdentity& identity,
                                  const Position& position) {
  HEADROOM_CHECK(trainer::save_checkpoint(checkpoint_path(folder_), model, optimizer, identity,
                                          position, writer()));
  saved_at_ = position.steps;
  saved_time_ = Clock::now();
  return Done{};
}

Status RunOutput::save_best(Model& model, std::uint64_t step, double loss) {
  if (!writes() && !ranks_.is_split()) return Done{};
  return best_.save(model, step, loss, writer());
}

Status RunOutput::save_result(Model& model) {
  if (!writes() && !ranks_.is_split()) return Done{};
  if (model.options().lora) return save_adapter(folder_, model, base_, {}, writer());
  return save_model(folder_, model, config_, {}, writer());
}

double RunOutput::seconds_since_checkpoint() const {
  return std::chrono::duration<double>(Clock::now() - saved_time_).count();
}

}  // namespace headroom::trainer
