// SPDX-License-Identifier: Apache-2.0
#include "trainer/training.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "allocator/backends/host_verdict.h"
#include "base/json_text.h"
#include "machine/user_files.h"
#include "trainer/adamw.h"
#include "trainer/checkpoint.h"
#include "trainer/gradient_norm.h"
#include "trainer/load_weights.h"
#include "trainer/output_folder.h"
#include "trainer/save_model.h"
#include "trainer/step.h"

namespace headroom::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t count_tokens(const data::Samples& samples) {
  std::uint64_t tokens = 0;
  for (const data::Sample& sample : samples) tokens += sample.size();
  return tokens;
}

// One run. Its functions that use libtorch are called under DeviceMemory::run.
class Run {
 public:
  Run(const TrainRequest& request, const RunLength& length, data::Samples samples,
      DeviceMemory& memory, Observer& observer)
      : request_(request),
        settings_(request.settings),
        length_(length),
        samples_(std::move(samples)),
        memory_(memory),
        observer_(observer),
        schedule_(settings_.schedule, length.steps),
        identity_(identify(settings_, samples_)) {}

  // Model, weights and, if asked for, the state of the run before.
  Status prepare() {
    model_ = std::make_unique<Model>(settings_.config, settings_.model);
    optimizer_ = std::make_unique<AdamW>(model_->trainable(), settings_.optimizer);
    HEADROOM_CHECK(fill_weights());
    model_->initialise_adapters(mix_seed(settings_.seed, adapter_seed));
    if (settings_.model.lora) add_base(model_->base(), identity_);
    return request_.resume ? load_position() : Done{};
  }

  Status train_all(MetricsFile& metrics) {
    start_ = Clock::now();
    while (position_.epoch < settings_.epochs) {
      const auto order = data::shuffled(samples_.size(), settings_.seed, position_.epoch);
      while (position_.sample < order.size()) {
        HEADROOM_CHECK(train_step(order, metrics));
        if (observer_.wants_stop()) return stop();
        if (seconds_since(saved_time_) > checkpoint_interval_s) HEADROOM_CHECK(save_position());
      }
      ++position_.epoch;
      position_.sample = 0;
      HEADROOM_CHECK(save_position());
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
    totals_.steps = position_.steps;
    totals_.samples = position_.samples;
    if (start_) totals_.elapsed_s = seconds_since(*start_);
    Json settings = to_json(settings_);
    settings["capacity_from"] = settings_.capacity ? "device.capacity" : "installed RAM";
    settings["warmup_steps"] = schedule_.warmup_steps();
    settings["data_samples"] = samples_.size();
    settings["data_tokens"] = count_tokens(samples_);
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
    observer_.on_note(fmt::format("resuming after step {}", position_.steps));
    if (!loaded.has_checksums)
      observer_.on_note(
          "the checkpoint is of an older headroom and has no checksums: whether it is whole, and "
          "of this very job, is not known; the next one has them");
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
        data::make_step(samples_, order, position_.sample, settings_.batch);
    const std::uint64_t step_seed =
        mix_seed(mix_seed(settings_.seed, dropout_seed), position_.steps);
    // The loss is the mean over all tokens of the step, however they fall into micro-batches.
    const double scale = 1.0 / static_cast<double>(step.targets);
    double loss = 0;
    for (std::size_t i = 0; i < step.micro_batches.size(); ++i) {
      loss += train_micro_batch(*model_, data::make_micro_batch(samples_, step.micro_batches[i]),
                                scale, mix_seed(step_seed, i));
    }
    if (!std::isfinite(loss)) return not_finite("the loss");
    const double norm = gradient_norm(model_->trainable());
    if (!std::isfinite(norm)) return not_finite("the gradient's norm");
    const double rate = schedule_.factor(position_.steps);
    updating_ = true;
    optimizer_->step({.rate = rate, .gradient = clip_factor(norm, settings_.max_grad_norm)});
    updating_ = false;
    position_.steps += 1;
    position_.sample += step.samples;
    position_.samples += step.samples;
    totals_.tokens += step.tokens;
    memory_.end_step(settings_.batch.micro);
    return report_step({.step = position_.steps,
                        .steps = length_.steps,
                        .epoch = position_.epoch + 1,
                        .loss = loss * scale,
                        .learning_rate = settings_.optimizer.learning_rate * rate,
                        .gradient_norm = norm,
                        .tokens = step.tokens,
                        .step_s = seconds_since(start),
                        .elapsed_s = seconds_since(*start_)},
                       metrics);
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
  Error not_finite(const char* what) const {
    return {Errc::invalid,
            fmt::format("{} of step {} is not a finite number", what, position_.steps + 1),
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
  data::Samples samples_;
  DeviceMemory& memory_;
  Observer& observer_;
  Schedule schedule_;
  RunIdentity identity_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<AdamW> optimizer_;
  Position position_;
  RunTotals totals_;
  std::optional<Clock::time_point> start_;
  std::optional<std::uint64_t> saved_at_;  // Steps in the checkpoint.
  Status rescued_ = Done{};
  Clock::time_point saved_time_ = Clock::now();
  bool updating_ = false;  // Parameters are between two steps.
};

// Report and trace; what cannot be written, in one error.
Status write_records(const TrainRequest& request, const Json& report, DeviceMemory& memory) {
  Status written =
      machine::write_file_atomic(request.output + "/report.json", to_json_text(report, 2) + "\n");
  const Status traced = memory.finish_trace();
  if (traced) return written;
  if (written) return traced;
  Error both = written.error();
  both.message += "; " + traced.error().message;
  return both;
}

// A run that was finished has nothing to lose but its report.
Error unrecorded(Error error, const std::string& output) {
  error.message += fmt::format("; the run is finished, and its result is in {}", output);
  if (error.next.empty()) error.next = "free space there before the next run";
  return error;
}

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
  HEADROOM_TRY(data::Samples samples, data::read_samples(settings.data));
  const RunLength length{
      .steps = data::count_steps(samples.size(), settings.batch, settings.epochs),
      .report_bytes = to_json_text(request.predicted, 2).size(),
      .recorded = request.memory == MemorySource::headroom};
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
  outcome.records = write_records(request, outcome.report, *memory);
  if (outcome.out_of_memory && outcome.records) outcome.records = run.rescued();
  if (outcome.status && !outcome.records)
    outcome.records = unrecorded(std::move(outcome.records).error(), request.output);
  return outcome;
}

}  // namespace headroom::trainer
