// SPDX-License-Identifier: Apache-2.0
#include "trainer/training.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "allocator/backends/host_verdict.h"
#include "base/json_text.h"
#include "trainer/best_model.h"
#include "trainer/checkpoint.h"
#include "trainer/evaluation.h"
#include "trainer/gradient_norm.h"
#include "trainer/kernels/kernels.h"
#include "trainer/load_weights.h"
#include "trainer/micro_batch.h"
#include "trainer/optimizer.h"
#include "trainer/output_folder.h"
#include "trainer/run_records.h"
#include "trainer/save_model.h"
#include "trainer/step_timer.h"

namespace headroom::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

RunLength length_of(const TrainRequest& request, const data::Split& samples) {
  const Settings& settings = request.settings;
  const std::uint64_t steps =
      data::count_steps(samples.training.size(), settings.batch, settings.epochs);
  const std::uint64_t evaluations =
      settings.evaluate_every == 0 ? settings.epochs : steps / settings.evaluate_every + 1;
  return {.steps = steps,
          .evaluations = samples.evaluation.empty() ? 0 : evaluations,
          .report_bytes = to_json_text(request.predicted, 2).size(),
          .recorded = request.memory == MemorySource::headroom};
}

// One run. Its functions that use libtorch are called under DeviceMemory::run.
class Run {
 public:
  Run(const TrainRequest& request, const RunLength& length, data::Split samples,
      DeviceMemory& memory, Observer& observer)
      : request_(request),
        settings_(request.settings),
        length_(length),
        samples_(std::move(samples)),
        memory_(memory),
        observer_(observer),
        schedule_(settings_.schedule, length.steps),
        best_(request.output, settings_.original_config, request.base_model),
        identity_(identify(settings_, samples_)) {}

  // Model, weights and, if asked for, the state of the run before.
  Status prepare() {
    model_ = std::make_unique<Model>(settings_.config, settings_.model);
    optimizer_ = make_optimizer(model_->trainable(), settings_.optimizer);
    HEADROOM_CHECK(fill_weights());
    model_->initialise_adapters(mix_seed(settings_.seed, adapter_seed));
    if (settings_.model.lora) add_base(model_->base(), identity_);
    return request_.resume ? load_position() : Done{};
  }

  Status train_all(MetricsFile& metrics) {
    start_ = Clock::now();
    HEADROOM_CHECK(evaluate_if_due(metrics));  // What the run before did not come to.
    if (position_.steps > 0 && observer_.wants_stop()) return stop();
    while (position_.epoch < settings_.epochs) {
      const std::uint64_t epoch = position_.epoch;
      const auto order = data::shuffled(samples_.training.size(), settings_.seed, epoch);
      while (position_.epoch == epoch) {
        HEADROOM_CHECK(timer_.time([&] { return train_step(order, metrics); }));
        HEADROOM_CHECK(evaluate_if_due(metrics));
        if (observer_.wants_stop()) return stop();
        if (position_.epoch > epoch || seconds_since(saved_time_) > checkpoint_interval_s)
          HEADROOM_CHECK(save_position());
      }
    }
    HEADROOM_CHECK(save_result());
    totals_.completed = true;
    return Done{};
  }

  // After a failure in the middle of a step: its gradients go, what trains is as after the last
  // whole step and is kept. A step that failed while it changed parameters leaves nothing to keep.
  void rescue() {
    if (memory_.failure())
      totals_.out_of_memory.push_back({position_.steps + 1, *memory_.failure()});
    if (!model_ || position_.steps == 0 || updating_ || saved_at_ == position_.steps) return;
    for (Parameter& parameter : model_->trainable()) parameter.grad.reset();
    rescued_ = save_position();
    if (rescued_) observer_.on_note(checkpoint_note());
  }

  // What ended the run, with where things stand if that was a full disk, and the way on.
  Error explain(Error error) const {
    if (!rescued_ && rescued_.error().message != error.message)
      error.message += fmt::format("; the state after step {} could not be saved: {}",
                                   position_.steps, rescued_.error().message);
    const bool disk =
        error.code == Errc::no_space || (!rescued_ && rescued_.error().code == Errc::no_space);
    if (!disk) return error;
    const OutputSize size = output_size(settings_, length_);
    error.message += saved_at_ ? fmt::format("; the state after step {} is whole, in {}",
                                             *saved_at_, checkpoint_path(request_.output))
                               : "; no checkpoint was saved before that";
    error.next = fmt::format(
        "free up to {} on the file system of {}, then {}",
        to_string(room_needed(request_.output, size)), request_.output,
        saved_at_ ? "go on with --resume" : "start again; or choose another folder with --output");
    return error;
  }

  const Status& rescued() const { return rescued_; }
  std::uint64_t steps_done() const { return position_.steps; }

  Json report() {
    totals_.pace = timer_.take();
    totals_.steps = position_.steps;
    totals_.samples = position_.samples;
    if (start_) totals_.elapsed_s = seconds_since(*start_);
    Json settings = to_json(settings_);
    settings["capacity_from"] = settings_.capacity ? "device.capacity" : "installed RAM";
    settings["kernels"] = kernels::kernels().name;
    settings["warmup_steps"] = schedule_.warmup_steps();
    settings["data_samples"] = samples_.training.size();
    settings["data_tokens"] = data::count_tokens(samples_.training);
    report_evaluation();
    return make_report(totals_, memory_.measured(), request_.predicted, settings);
  }

 private:
  static constexpr std::uint64_t base_seed = 1;  // Uses of the job's seed; see mix_seed().
  static constexpr std::uint64_t adapter_seed = 2;
  static constexpr std::uint64_t dropout_seed = 3;
  // Besides the one at the end of every epoch: what a power cut may cost.
  static constexpr double checkpoint_interval_s = 300;

  Status load_position() {
    HEADROOM_TRY(const LoadedCheckpoint loaded,
                 load_checkpoint(checkpoint_path(request_.output), *model_, *optimizer_, identity_,
                                 request_.allowed_changes));
    position_ = loaded.position;
    saved_at_ = position_.steps;
    end_epoch();  // Older versions stopped in front of it.
    HEADROOM_CHECK(find_best());
    observer_.on_note(fmt::format("resuming after step {}", position_.steps));
    if (!loaded.has_checksums)
      observer_.on_note(
          "the checkpoint is of an older headroom and has no checksums: whether it is whole, and "
          "of this very job, is not known; the next one has them");
    if (loaded.fused && *loaded.fused != kernels::kernels().fused)
      observer_.on_note(fmt::format(
          "the checkpoint was computed {} fused multiply-add, and this processor computes {} it: "
          "from here on the numbers are equal but for their rounding",
          *loaded.fused ? "with" : "without", *loaded.fused ? "without" : "with"));
    return Done{};
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

  Status train_step(const std::vector<std::size_t>& order, MetricsFile& metrics) {
    const auto start = Clock::now();
    const data::StepSamples step =
        data::make_step(samples_.training, order, position_.sample, settings_.batch);
    const std::uint64_t step_seed =
        mix_seed(mix_seed(settings_.seed, dropout_seed), position_.steps);
    // The loss is the mean over all tokens of the step, however they fall into micro-batches.
    const double scale = 1.0 / static_cast<double>(step.targets);
    double loss = 0;
    for (std::size_t i = 0; i < step.micro_batches.size(); ++i) {
      loss += train_micro_batch(*model_,
                                data::make_micro_batch(samples_.training, step.micro_batches[i]),
                                scale, mix_seed(step_seed, i));
    }
    if (!std::isfinite(loss)) return not_finite("the loss of", 1);
    const double norm = gradient_norm(model_->trainable());
    if (!std::isfinite(norm)) return not_finite("the gradient's norm of", 1);
    const double factor = schedule_.factor(position_.steps);
    const double rate = optimizer_->learning_rate(factor);
    updating_ = true;
    optimizer_->step({.rate = factor, .gradient = clip_factor(norm, settings_.max_grad_norm)});
    updating_ = false;
    position_.steps += 1;
    position_.sample += step.samples;
    position_.samples += step.samples;
    const std::uint64_t epoch = position_.epoch + 1;
    end_epoch();
    totals_.tokens += step.tokens;
    memory_.end_step(settings_.batch.micro);
    return report_step({.step = position_.steps,
                        .steps = length_.steps,
                        .epoch = epoch,
                        .loss = loss * scale,
                        .learning_rate = rate,
                        .gradient_norm = norm,
                        .tokens = step.tokens,
                        .step_s = seconds_since(start),
                        .elapsed_s = seconds_since(*start_)},
                       metrics);
  }

  void end_epoch() {
    if (position_.sample < samples_.training.size()) return;
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
  Status evaluate_if_due(MetricsFile& metrics) {
    if (!evaluation_is_due()) return Done{};
    timer_.pause();
    const auto start = Clock::now();
    const auto evaluated = evaluate(*model_, samples_.evaluation, settings_.batch.micro,
                                    [this] { return observer_.wants_stop(); });
    if (!evaluated) return Done{};
    const double loss = *evaluated;
    if (!std::isfinite(loss)) return not_finite("the loss on the evaluation data after", 0);
    const bool better = !position_.best || loss < position_.best->loss;
    const EvaluationMetrics line{.step = position_.steps,
                                 .epoch = position_.epoch + (position_.sample == 0 ? 0 : 1),
                                 .loss = loss,
                                 .best = better,
                                 .evaluation_s = seconds_since(start),
                                 .elapsed_s = seconds_since(*start_)};
    HEADROOM_CHECK(metrics.add(line));
    observer_.on_evaluation(line);
    position_.evaluated = position_.steps;
    last_evaluation_ = loss;
    if (!better) return Done{};
    position_.best = Position::Best{position_.steps, loss};
    HEADROOM_CHECK(save_position());
    return best_.save(*model_, position_.steps, loss);
  }

  // Of a checkpoint just read: its best model is where it should be, or can still be written.
  Status find_best() {
    if (!position_.best || best_.holds(position_.best->step, *model_)) return Done{};
    const auto [step, loss] = *position_.best;
    if (step == position_.steps) return best_.save(*model_, step, loss);
    observer_.on_note(
        fmt::format("expected the model of step {}, the best one so far, in {}, found "
                    "another or none; the best one from here on will be kept there",
                    step, best_.folder()));
    position_.best.reset();
    return Done{};
  }

  void report_evaluation() {
    if (!position_.best) return;
    totals_.evaluation = {.samples = samples_.evaluation.size(),
                          .tokens = data::count_tokens(samples_.evaluation),
                          .last_loss = last_evaluation_,
                          .best_loss = position_.best->loss,
                          .best_step = position_.best->step};
  }

  Status report_step(StepMetrics line, MetricsFile& metrics) {
    const auto memory = memory_.measured();
    if (memory) {
      line.live_peak_bytes = memory->usage.live_peak_bytes;
      line.reserved_peak_bytes = memory->usage.reserved_peak_bytes;
    }
    if (!totals_.first_loss) totals_.first_loss = line.loss;
    totals_.last_loss = line.loss;
    observer_.on_step(line);
    return metrics.add(line);
  }

  Status save_position() {
    timer_.pause();
    HEADROOM_CHECK(save_checkpoint(checkpoint_path(request_.output), *model_, *optimizer_,
                                   identity_, position_));
    saved_at_ = position_.steps;
    saved_time_ = Clock::now();
    return Done{};
  }

  Status save_result() {
    if (settings_.model.lora) return save_adapter(request_.output, *model_, request_.base_model);
    return save_model(request_.output, *model_, settings_.original_config);
  }

  std::string checkpoint_note() const {
    return fmt::format("the state after step {} is in {}", position_.steps,
                       checkpoint_path(request_.output));
  }

  // Found before the optimizer has spread it: what trains is still as after the last step.
  Error not_finite(const char* what, std::uint64_t later) const {
    return {Errc::invalid,
            fmt::format("{} step {} is not a finite number", what, position_.steps + later),
            "lower optimizer.learning_rate (a tenth is a good try), or limit the gradients: "
            "optimizer.max_grad_norm = 1.0"};
  }

  Status stop() {
    HEADROOM_CHECK(save_position());
    return Error{Errc::io, "stopped by request; " + checkpoint_note(), "go on with --resume"};
  }

  const TrainRequest& request_;
  const Settings& settings_;
  RunLength length_;
  data::Split samples_;
  DeviceMemory& memory_;
  Observer& observer_;
  Schedule schedule_;
  BestModel best_;
  RunIdentity identity_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  Position position_;
  RunTotals totals_;
  StepTimer timer_;
  std::optional<Clock::time_point> start_;
  std::optional<double> last_evaluation_;
  std::optional<std::uint64_t> saved_at_;  // Steps in the checkpoint.
  Status rescued_ = Done{};
  Clock::time_point saved_time_ = Clock::now();
  bool updating_ = false;  // Parameters are between two steps.
};

}  // namespace

Result<TrainOutcome> train(const TrainRequest& request, Observer& observer) {
  const Settings& settings = request.settings;
  HEADROOM_TRY(const Bytes asked,
               settings.capacity ? Result<Bytes>(*settings.capacity) : installed_ram());
  const Bytes capacity{round_down(asked.value, allocator::page_bytes)};  // As the allocator does.
  HEADROOM_CHECK(check_capacity(settings, capacity));
  HEADROOM_TRY(const OutputLock lock, open_output(request.output, request.resume));
  if (lock.missing())
    observer.on_note("nothing keeps another run from writing there too: " + *lock.missing());
  HEADROOM_TRY(data::Split samples,
               data::read_split(settings.data, settings.evaluation, settings.seed));
  for (const std::string& note : samples.notes) observer.on_note(note);
  const RunLength length = length_of(request, samples);
  HEADROOM_CHECK(check_room(request.output, output_size(settings, length)));
  const auto refusal = allocator::find_host_refusal();
  if (refusal) observer.on_note("without virtual memory: " + *refusal);
  HEADROOM_TRY(const auto memory,
               DeviceMemory::create({.capacity = capacity,
                                     .source = request.memory,
                                     .trace_path = request.trace_path,
                                     .recording_path = recording_path(request.output),
                                     .batch = settings.batch.micro,
                                     .virtual_memory = !refusal}));
  if (!kernels::kernels().fused)
    observer.on_note(
        "this processor does not say that it has AVX2 and fused multiply-add: training "
        "runs on portable kernels, which are several times slower");
  if (const auto& problem = memory->recording_problem())
    observer.on_note("no flight recording: " + problem->message);

  Run run(request, length, std::move(samples), *memory, observer);
  HEADROOM_CHECK(memory->run([&] { return run.prepare(); }));
  HEADROOM_TRY(MetricsFile metrics,
               MetricsFile::open(request.output + "/metrics.jsonl", run.steps_done()));
  TrainOutcome outcome;
  outcome.status = memory->run([&] { return run.train_all(metrics); });
  outcome.out_of_memory = memory->failure();
  if (!outcome.status) {
    run.rescue();
    outcome.status = run.explain(std::move(outcome.status).error());
  }
  outcome.report = run.report();
  outcome.records = write_records(request.output, outcome.report, *memory);
  if (outcome.out_of_memory && outcome.records) outcome.records = run.rescued();
  if (outcome.status && !outcome.records)
    outcome.records = unrecorded(std::move(outcome.records).error(), request.output);
  return outcome;
}

}  // namespace headroom::trainer
