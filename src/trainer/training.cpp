// SPDX-License-Identifier: Apache-2.0
#include "trainer/training.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "trainer/begin.h"
#include "trainer/checksum.h"
#include "trainer/gradient_norm.h"
#include "trainer/kernels/kernels.h"
#include "trainer/load_weights.h"
#include "trainer/optimizer.h"
#include "trainer/output_folder.h"
#include "trainer/ranks/rank_peaks.h"
#include "trainer/resume_notes.h"
#include "trainer/run_errors.h"
#include "trainer/run_output.h"
#include "trainer/run_page.h"
#include "trainer/run_records.h"
#include "trainer/save_model.h"
#include "trainer/step_timer.h"
#include "trainer/step_work.h"

namespace headroom::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One run. Its functions that use libtorch are called under DeviceMemory::run.
class Run {
 public:
  // `begun` outlives it; it gives up its lock.
  Run(const TrainRequest& request, Begun& begun, Observer& observer)
      : request_(request),
        settings_(request.settings),
        length_(begun.length),
        samples_(begun.samples),
        identity_(begun.identity),
        ranks_(begun.ranks),
        memory_(*begun.memory),
        observer_(observer),
        schedule_(settings_.schedule, length_.steps),
        output_(ranks_, request.output, settings_.original_config, request.base_model,
                std::move(begun.lock)),
        work_({settings_, samples_, ranks_, memory_, output_, observer}),
        batches_(work_.batches()) {}

  // Model, weights and, if asked for, the state of the run before.
  Status prepare() {
    if (request_.tensorboard) output_.write_events(observer_);
    ModelOptions options = settings_.model;
    if (settings_.offload.activations) options.activations_host = memory_.host();
    model_ = std::make_unique<Model>(settings_.config, options);
    optimizer_ = make_optimizer(model_->trainable(), settings_.optimizer,
                                {.masters = settings_.masters,
                                 .host = settings_.offload.optimizer ? memory_.host() : nullptr});
    HEADROOM_CHECK(fill_weights());
    HEADROOM_CHECK(save_base());
    model_->initialise_adapters(mix_seed(settings_.seed, adapter_seed));
    if (settings_.model.lora)
      HEADROOM_CHECK(add_base(list_checksums(model_->base()), ranks_, identity_));
    if (request_.place.comes_back) {
      HEADROOM_CHECK(come_back());
    } else if (request_.resume) {
      HEADROOM_CHECK(load_position());
    }
    return output_.open_metrics(position_.steps);
  }

  Status train_all() {
    start_ = Clock::now();
    HEADROOM_CHECK(evaluate_if_due());  // What the run before did not come to.
    if (position_.steps > 0 && work_.wants_stop()) return stop();
    while (position_.epoch < settings_.epochs) {
      const std::uint64_t epoch = position_.epoch;
      const auto order = data::shuffled(samples_.training.rows(), settings_.seed, epoch);
      while (position_.epoch == epoch) {
        HEADROOM_CHECK(admit_ranks());
        HEADROOM_CHECK(timer_.time([&] { return train_step(order); }));
        HEADROOM_CHECK(evaluate_if_due());
        if (work_.wants_stop()) return stop();
        if (position_.epoch > epoch || work_.wants_checkpoint()) HEADROOM_CHECK(save_position());
      }
    }
    HEADROOM_CHECK(save_result());
    HEADROOM_TRY(totals_.ranks, gather_peaks(ranks_, memory_.measured()));
    totals_.completed = true;
    return Done{};
  }

  // After a failure in the middle of a step: its gradients go, what trains is as after the last
  // whole step and is kept. A step that failed while it changed parameters leaves nothing to keep.
  void rescue() {
    if (memory_.failure())
      totals_.out_of_memory.push_back({position_.steps + 1, *memory_.failure()});
    // Of a split model each rank has a part to save, where all of them have returned.
    const bool can_save =
        ranks_.is_split() ? known_to_all_ || work_.failed_together() : output_.writes();
    if (!can_save || !model_ || position_.steps == 0 || updating_ ||
        output_.saved_at() == position_.steps)
      return;
    drop_gradients(model_->trainable());
    rescued_ = save_position();
    if (rescued_) observer_.on_note(checkpoint_note());
  }

  Error explain(Error error) const {
    return explain_end(std::move(error), {.output = request_.output,
                                          .steps = position_.steps,
                                          .saved_at = output_.saved_at(),
                                          .rescued = rescued_,
                                          .size = output_size(settings_, length_)});
  }

  const Status& rescued() const { return rescued_; }
  const RunOutput& output() const { return output_; }
  bool is_known_to_all() const { return known_to_all_; }

  Json report() {
    totals_.pace = timer_.take();
    totals_.steps = position_.steps;
    totals_.out_of_memory.insert(totals_.out_of_memory.begin(), batches_.events().begin(),
                                 batches_.events().end());
    totals_.samples = position_.samples;
    if (start_) totals_.elapsed_s = seconds_since(*start_);
    Json settings = to_json(settings_);
    settings["kernels"] = settings_.model.gpu() ? "libtorch" : kernels::kernels().name;
    settings["warmup_steps"] = schedule_.warmup_steps();
    add_data(settings_, samples_.training, settings);
    report_evaluation();
    Json report = make_report(totals_, memory_.measured(), request_.predicted, settings);
    if (!request_.automatic.is_null()) report["automatic"] = request_.automatic;
    return report;
  }

 private:
  static constexpr std::uint64_t base_seed = 1;  // Uses of the job's seed; see mix_seed().
  static constexpr std::uint64_t adapter_seed = 2;
  // 3: StepWork's, of dropout; 4 and 5: those of data/split.cpp.

  Status load_position() {
    HEADROOM_TRY(const LoadedCheckpoint loaded,
                 load_checkpoint(checkpoint_path(request_.output), *model_, *optimizer_, identity_,
                                 request_.allowed_changes));
    position_ = loaded.position;
    if (position_.at_once) batches_.set_at_once(*position_.at_once);
    output_.found_checkpoint(position_.steps);
    end_epoch();  // Older versions stopped in front of it.
    HEADROOM_CHECK(find_best());
    for (const std::string& note : resume_notes(loaded, settings_.model.gpu().has_value()))
      observer_.on_note(note);
    return Done{};
  }

  // Ranks that were lost and started again go on from a checkpoint that is written for them.
  Status admit_ranks() {
    if (!request_.place.admits || std::exchange(just_came_back_, false)) return Done{};
    HEADROOM_TRY(const std::uint32_t joined, ranks_.admit());
    if (joined == 0) return Done{};
    HEADROOM_CHECK(save_position());
    HEADROOM_CHECK(ranks_.catch_up(position_.steps));
    if (output_.writes())
      observer_.on_note(
          fmt::format("rank {} is back, after step {}", std::countr_zero(joined), position_.steps));
    return Done{};
  }

  Status come_back() {
    HEADROOM_TRY(const std::uint64_t steps, ranks_.catch_up(std::nullopt));
    HEADROOM_CHECK(load_position());
    just_came_back_ = true;
    if (position_.steps == steps) return Done{};
    return Error{Errc::io,
                 fmt::format("expected the state after step {}, found that after step {}", steps,
                             position_.steps),
                 "--lost-rank continue, which goes on without it"};
  }

  Status fill_weights() {
    bool stored = false;
    if (settings_.model_folder) {
      HEADROOM_TRY(stored, has_weights(*settings_.model_folder));
    }
    if (stored) return load_weights(*settings_.model_folder, *model_);
    observer_.on_note("no weights given: beginning from random ones");
    model_->initialise_base(mix_seed(settings_.seed, base_seed));
    return Done{};
  }

  // For other programs, and to begin from next time without the weights that were quantised.
  Status save_base() {
    const std::string& folder = request_.base_folder;
    if (folder.empty() || !ranks_.leads()) return Done{};
    HEADROOM_CHECK(make_folder(folder));
    HEADROOM_CHECK(save_model(folder, *model_, settings_.original_config));
    observer_.on_note("the quantised base is in " + folder);
    return Done{};
  }

  // All ranks find the same.
  Status check_finite(double number, const char* what, std::uint64_t step) {
    known_to_all_ = !std::isfinite(number);
    return known_to_all_ ? Status(not_finite(what, step)) : Done{};
  }

  Status train_step(const std::vector<std::size_t>& order) {
    const auto start = Clock::now();
    const data::StepSamples step =
        data::make_step(samples_.training, order, position_.sample, settings_.batch);
    // The loss is the mean over all tokens of the step, however they fall into micro-batches.
    const double scale = 1.0 / static_cast<double>(step.targets);
    HEADROOM_TRY(const double loss, work_.compute_gradients(*model_, step, scale, position_.steps));
    HEADROOM_CHECK(check_finite(loss, "the loss of", position_.steps + 1));
    HEADROOM_TRY(const double norm, work_.gradient_norm(*model_));
    HEADROOM_CHECK(check_finite(norm, "the gradient's norm of", position_.steps + 1));
    const double factor = schedule_.factor(position_.steps);
    const double rate = optimizer_->learning_rate(factor);
    updating_ = true;
    optimizer_->step({.rate = factor, .gradient = clip_factor(norm, settings_.max_grad_norm)});
    updating_ = false;
    position_.steps += 1;
    position_.sample += step.rows;
    position_.samples += step.samples;
    const std::uint64_t epoch = position_.epoch + 1;
    end_epoch();
    totals_.tokens += step.tokens;
    memory_.end_step(batches_.at_once());
    return report_step({.step = position_.steps,
                        .steps = length_.steps,
                        .epoch = epoch,
                        .loss = loss * scale,
                        .learning_rate = rate,
                        .gradient_norm = norm,
                        .tokens = step.tokens,
                        .step_s = seconds_since(start),
                        .elapsed_s = seconds_since(*start_)});
  }

  void end_epoch() {
    if (position_.sample < samples_.training.rows()) return;
    ++position_.epoch;
    position_.sample = 0;
  }

  // A function of the position alone, so that a resumed run evaluates where this one would.
  bool evaluation_is_due() const {
    if (samples_.evaluation.empty() || position_.evaluated == position_.steps) return false;
    const std::uint64_t every = settings_.evaluate_every;
    if (every == 0) return position_.sample == 0;
    return position_.steps % every == 0 || position_.epoch == settings_.epochs;
  }

  // An evaluation that a stop ended is due again when the run is resumed.
  Status evaluate_if_due() {
    if (!evaluation_is_due()) return Done{};
    timer_.pause();
    const auto start = Clock::now();
    HEADROOM_TRY(const auto evaluated, work_.evaluate(*model_, position_.steps));
    if (!evaluated) return Done{};
    const double loss = *evaluated;
    HEADROOM_CHECK(check_finite(loss, "the loss on the evaluation data after", position_.steps));
    const bool better = !position_.best || loss < position_.best->loss;
    const EvaluationMetrics line{.step = position_.steps,
                                 .epoch = position_.epoch + (position_.sample == 0 ? 0 : 1),
                                 .loss = loss,
                                 .best = better,
                                 .evaluation_s = seconds_since(start),
                                 .elapsed_s = seconds_since(*start_)};
    HEADROOM_CHECK(output_.add(line));
    observer_.on_evaluation(line);
    position_.evaluated = position_.steps;
    last_evaluation_ = loss;
    if (!better) return Done{};
    position_.best = Position::Best{position_.steps, loss};
    HEADROOM_CHECK(save_position());
    return output_.save_best(*model_, position_.steps, loss);
  }

  // Of a checkpoint just read: its best model is where it should be, or can still be written.
  Status find_best() {
    if (!position_.best || output_.best().holds(position_.best->step, *model_)) return Done{};
    const auto [step, loss] = *position_.best;
    if (step == position_.steps) return output_.save_best(*model_, step, loss);
    observer_.on_note(
        fmt::format("expected the model of step {}, the best one so far, in {}, found "
                    "another or none; the best one from here on will be kept there",
                    step, output_.best().folder()));
    position_.best.reset();
    return Done{};
  }

  void report_evaluation() {
    if (!position_.best) return;
    totals_.evaluation = {.samples = samples_.evaluation.size(),
                          .tokens = samples_.evaluation.count_tokens(),
                          .last_loss = last_evaluation_,
                          .best_loss = position_.best->loss,
                          .best_step = position_.best->step};
  }

  Status report_step(StepMetrics line) {
    if (const auto memory = memory_.measured()) add_peaks(*memory, line);
    if (!totals_.first_loss) totals_.first_loss = line.loss;
    totals_.last_loss = line.loss;
    observer_.on_step(line);
    return output_.add(line);
  }

  Status save_position() {
    timer_.pause();
    position_.at_once.reset();
    if (batches_.at_once() < settings_.batch.micro) position_.at_once = batches_.at_once();
    return output_.save_checkpoint(*model_, *optimizer_, identity_, position_);
  }

  // Returns when it is written, by whichever rank is there to do it.
  Status save_result() {
    Status saved = Done{};
    const auto write = [&](std::size_t /*first*/, std::size_t /*last*/) {
      saved = output_.save_result(*model_);
      return Result<std::vector<double>>(std::vector<double>());
    };
    HEADROOM_CHECK(work_.shared().do_all(0, write, position_.steps));
    return saved;
  }

  std::string checkpoint_note() const {
    return fmt::format("the state after step {} is in {}", position_.steps,
                       checkpoint_path(request_.output));
  }

  Status stop() {
    HEADROOM_CHECK(save_position());
    known_to_all_ = true;
    return Error{Errc::io, "stopped by request; " + checkpoint_note(), "go on with --resume"};
  }

  const TrainRequest& request_;
  const Settings& settings_;
  const RunLength& length_;
  const data::Split& samples_;
  RunIdentity identity_;
  Ranks& ranks_;
  DeviceMemory& memory_;
  Observer& observer_;
  Schedule schedule_;
  RunOutput output_;
  StepWork work_;
  FittingBatches& batches_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  Position position_;
  RunTotals totals_;
  StepTimer timer_;
  std::optional<Clock::time_point> start_;
  std::optional<double> last_evaluation_;
  Status rescued_ = Done{};
  bool just_came_back_ = false;  // At this very border.
  bool updating_ = false;        // Parameters are between two steps.
  bool known_to_all_ = false;    // Why the run ends early, on every rank.
};

}  // namespace

Result<TrainOutcome> train(const TrainRequest& request, Observer& observer) {
  HEADROOM_TRY(Begun begun, begin(request, observer));
  DeviceMemory& memory = *begun.memory;
  Run run(request, begun, observer);
  HEADROOM_CHECK(memory.run([&] { return run.prepare(); }));
  TrainOutcome outcome;
  outcome.status = memory.run([&] { return run.train_all(); });
  outcome.out_of_memory = memory.failure();
  if (!outcome.status) {
    run.rescue();
    outcome.status = run.explain(std::move(outcome.status).error());
  }
  outcome.report = run.report();
  outcome.leads = run.output().writes();
  outcome.is_known_to_all = run.is_known_to_all();
  if (!outcome.leads) return outcome;
  outcome.records = write_records(request.output, outcome.report, memory);
  write_page(request, outcome, run.output(), observer);
  if (outcome.out_of_memory && outcome.records) outcome.records = run.rescued();
  if (outcome.status && !outcome.records)
    outcome.records = unrecorded(std::move(outcome.records).error(), request.output);
  return outcome;
}

}  // namespace headroom::trainer
