// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_output.h"

#include <utility>

#include "trainer/model.h"
#include "trainer/save_model.h"

namespace headroom::trainer {

Status RunOutput::open_metrics(std::uint64_t steps) {
  if (!writes()) return Done{};
  HEADROOM_TRY(metrics_, MetricsFile::open(folder_ + "/metrics.jsonl", steps));
  open_events(steps);
  return Done{};
}

void RunOutput::open_events(std::uint64_t steps) {
  if (events_observer_ == nullptr) return;
  Result<EventFile> events = EventFile::create(folder_ + "/tensorboard", steps);
  if (events) {
    events_.emplace(*std::move(events));
  } else {
    events_observer_->on_note("nothing for TensorBoard: " + events.error().message);
  }
}

template <class Metrics>
void RunOutput::add_event(const Metrics& line) {
  if (!events_) return;
  const Status added = events_->add(line);
  if (added) return;
  events_.reset();
  events_observer_->on_note("nothing more for TensorBoard: " + added.error().message);
}

Status RunOutput::take_over(std::uint64_t steps) {
  HEADROOM_TRY(OutputLock lock, OutputLock::take(folder_));
  lock_.emplace(std::move(lock));
  saved_at_.reset();  // Whether the rank before came to its last one is not known.
  // Nor whether it wrote the lines of the last step, which this rank has as well.
  const bool has_step = last_step_ && last_step_->step == steps;
  HEADROOM_CHECK(open_metrics(has_step ? steps - 1 : steps));
  if (!has_step) return Done{};
  const auto line = *last_step_;
  HEADROOM_CHECK(add(line));
  if (!last_evaluation_ || last_evaluation_->step != steps) return Done{};
  const auto evaluation = *last_evaluation_;
  return add(evaluation);
}

Status RunOutput::add(const StepMetrics& line) {
  last_step_ = line;
  add_event(line);
  return metrics_ ? metrics_->add(line) : Done{};
}

Status RunOutput::add(const EvaluationMetrics& line) {
  last_evaluation_ = line;
  add_event(line);
  return metrics_ ? metrics_->add(line) : Done{};
}

Status RunOutput::save_checkpoint(Model& model, Optimizer& optimizer, const RunIdentity& identity,
                                  const Position& position) {
  HEADROOM_CHECK(trainer::save_checkpoint(checkpoint_path(folder_), model, optimizer, identity,
                                          position, writer()));
  saved_at_ = position.steps;
  checkpoints_.add(position.steps);
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
