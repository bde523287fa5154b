// SPDX-License-Identifier: Apache-2.0
// A whole training job in a scratch folder, small enough to finish in a fraction of a second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "estimate/plan.h"
#include "report/plan_json.h"
#include "run/job_file.h"
#include "trainer/testing/scratch_folder.h"
#include "trainer/training.h"

namespace headroom::trainer::testing {

inline constexpr const char* tiny_config_json =
    R"({"model_type":"qwen2","hidden_size":32,"intermediate_size":64,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"vocab_size":257,"rms_norm_eps":1e-6,)"
    R"("tie_word_embeddings":true,"initializer_range":0.02})";

// Paragraphs of different lengths; seven samples at sequence 48.
inline constexpr const char* tiny_text =
    "Memory is what a training job runs out of.\n\nIt is asked for in pieces, and the pieces "
    "differ "
    "in size from step to step.\n\nWhat is free is not always usable.\n\nShort.\n\nA page can be "
    "mapped anywhere; a block needs one contiguous place.\n\nThe end of the text.\n";

class TinyJob {
 public:
  TinyJob() {
    folder.write("config.json", tiny_config_json);
    folder.write("text.txt", tiny_text);
  }

  // `changes` are lines like "batch.micro=2" in TOML's own syntax of dotted keys.
  Result<TrainRequest> request(const std::vector<std::string>& changes = {}) const {
    std::string job =
        "model.config = \"config.json\"\ncompute.dtype = \"fp32\"\nengine.kind = \"headroom\"\n"
        "batch.micro = 2\nbatch.sequence = 48\ndevice.capacity = \"32MiB\"\n"
        "data.path = \"text.txt\"\ndata.epochs = 2\noptimizer.learning_rate = 5e-3\n";
    for (const std::string& change : changes) {
      const std::string key = change.substr(0, change.find('=')) + " =";
      if (const auto old = job.find(key); old != std::string::npos) {
        job.erase(old, job.find('\n', old) + 1 - old);
      }
      job += change + "\n";
    }
    HEADROOM_TRY(run::LoadedJob loaded, run::load_job(folder.write("job.toml", job)));
    HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
    HEADROOM_TRY(const estimate::Plan plan, estimate::make_plan(loaded.job, loaded.model, device));
    TrainRequest request;
    HEADROOM_TRY(request.settings, make_settings(loaded));
    request.output = folder.file("out");
    request.tensorboard = loaded.tensorboard;
    request.predicted = report::to_json(plan);
    return request;
  }

  ScratchFolder folder;
};

// Keeps what it hears; asks to stop after so many steps or evaluations.
class RecordingObserver final : public Observer {
 public:
  void on_note(const std::string& text) override { notes.push_back(text); }
  void on_step(const StepMetrics& metrics) override { steps.push_back(metrics); }
  void on_evaluation(const EvaluationMetrics& metrics) override { evaluations.push_back(metrics); }
  bool wants_stop() override {
    return (stop_after && steps.size() >= *stop_after) ||
           (stop_after_evaluations && evaluations.size() >= *stop_after_evaluations);
  }

  std::vector<std::string> notes;
  std::vector<StepMetrics> steps;
  std::vector<EvaluationMetrics> evaluations;
  std::optional<std::size_t> stop_after, stop_after_evaluations;
};

}  // namespace headroom::trainer::testing
