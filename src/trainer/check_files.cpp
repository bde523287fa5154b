// SPDX-License-Identifier: Apache-2.0
#include "trainer/check_files.h"

#include <utility>

#include "trainer/checkpoint.h"

namespace headroom::trainer {
namespace {

// As training.cpp, output_lock.cpp and save_model.cpp write them.
std::vector<std::string> result_names(bool is_adapter) {
  std::vector<std::string> names = {"report.json", "report.html", "metrics.jsonl",
                                    "allocator.flight", ".headroom.lock"};
  for (const std::string folder : {"", "best/"}) {
    names.push_back(folder + (is_adapter ? "adapter_model.safetensors" : "model.safetensors"));
    names.push_back(folder + (is_adapter ? "adapter_config.json" : "config.json"));
  }
  return names;
}

Status check_base_folder(const TrainRequest& request) {
  const ModelOptions& model = request.settings.model;
  if (!model.quantised)
    return Error{Errc::invalid, "--save-base: expected a job with a quantised base, found none",
                 "write kind = \"qlora\" under [method], or leave --save-base out"};
  if (model.part)
    return Error{Errc::unsupported,
                 "--save-base: expected one process with the whole model, found one that is split",
                 "leave engine.stages out for the run that writes the base"};
  return Done{};
}

}  // namespace

Status check_files(const TrainRequest& request, const machine::InputFiles& inputs) {
  const std::string next = "--output DIR, a folder of the run's own";
  std::vector<machine::OutputFile> outputs = {{"--output", checkpoint_path(request.output), next}};
  for (const std::string& name : result_names(request.settings.model.lora.has_value()))
    outputs.push_back({"--output", request.output + "/" + name, next});
  if (!request.base_folder.empty()) {
    HEADROOM_CHECK(check_base_folder(request));
    for (const char* name : {"model.safetensors", "config.json"})
      outputs.push_back({"--save-base", request.base_folder + "/" + name, ""});
  }
  // Last, so that it is the trace which is said to be in the way.
  outputs.push_back({"--trace", request.trace_path, ""});
  HEADROOM_CHECK(machine::check_names(outputs, inputs));
  return machine::check_places({outputs.back()});
}

}  // namespace headroom::trainer
