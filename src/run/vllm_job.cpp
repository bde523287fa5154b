// SPDX-License-Identifier: Apache-2.0
#include "run/vllm_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/document.h"
#include "base/text.h"
#include "machine/user_files.h"
#include "run/command_words.h"

namespace headroom::run {
namespace {

using estimate::vllm::ReadOptions;

// The first word behind the program, or 0 where it is another one.
std::size_t arguments_at(const std::vector<std::string>& words) {
  const std::size_t at = program_at(words);
  if (at + 1 < words.size() && base_name(words[at]) == "vllm" && words[at + 1] == "serve")
    return at + 2;
  if (at >= words.size() || !base_name(words[at]).starts_with("python")) return 0;
  for (std::size_t i = at + 1; i + 1 < words.size(); ++i) {
    if (words[i] == "-m" && (words[i + 1] == "vllm.entrypoints.openai.api_server" ||
                             words[i + 1] == "vllm.entrypoints.api_server"))
      return i + 2;
  }
  return 0;
}

// A model's folder or config.json, or else a name.
bool is_path(const std::string& model) {
  return model.starts_with('/') || model.starts_with('.') || model.ends_with(".json") ||
         machine::kind_of(model).has_value();
}

Result<VllmJob> load(ReadOptions read, const JobFlags& flags) {
  VllmJob job;
  job.options = std::move(read.options);
  if (job.options.model.ends_with(".gguf"))
    return Error{Errc::unsupported,
                 "plan: expected a model of safetensors for vLLM, found a GGUF file",
                 "headroom plan -- llama-server -m " + job.options.model};
  JobFlags device;
  for (const auto& [key, flag] : flags.flags) {
    const std::size_t dot = key.find('.');
    if (key.starts_with("device."))
      device.set(key, flags.keys[key.substr(0, dot)][key.substr(dot + 1)], flag);
  }
  if (std::string note = unused_note(flags, "vLLM"); !note.empty())
    job.notes.push_back(std::move(note));
  const char* key = is_path(job.options.model) ? "model.config" : "model.name";
  device.set(key, job.options.model, "the command's model");
  // Of a job that is only there to name model and device, nothing is left to its defaults.
  device.set("method.kind", "inference", "vllm");
  device.set("compute.dtype", "fp16", "vllm");
  for (const char* batch : {"batch.micro", "batch.prompt", "batch.generate"})
    device.set(batch, 1, "vllm");
  HEADROOM_TRY(job.loaded, load_job("", device));
  if (!read.unread.empty())
    job.notes.push_back(fmt::format("Ignored: {}.", join(read.unread, ", ")));
  return job;
}

Result<std::string> model_of(const JobFile& file) {
  if (const auto config = file.model("config"))
    return config->starts_with('/') || config->starts_with('.') ? *config : "./" + *config;
  if (auto name = file.model("name")) return *std::move(name);
  return Error{
      Errc::invalid,
      fmt::format("{}: model: expected a name or the folder of a model, found none", file.name),
      "write [model] name = \"Qwen/Qwen3-8B\""};
}

// The job's [device], where no flag of the same key wins over it.
void add_device(const Json& value, JobFlags& flags) {
  const auto device = value.find("device");
  if (device == value.end() || !device->is_object()) return;
  for (const auto& [key, one] : device->items()) {
    const std::string path = "device." + key;
    if (!flags.flags.contains(path)) flags.set(path, one, path);
  }
}

}  // namespace

bool is_vllm_command(const std::vector<std::string>& words) {
  return arguments_at(words) > 0;
}

Result<VllmJob> load_vllm_command(const std::vector<std::string>& words, const JobFlags& flags) {
  const std::size_t at = arguments_at(words);
  HEADROOM_TRY(ReadOptions read,
               estimate::vllm::parse_options(
                   {words.begin() + static_cast<std::ptrdiff_t>(at), words.end()}));
  for (std::size_t i = 0; i < program_at(words); ++i)
    HEADROOM_CHECK(estimate::vllm::take_variable(words[i], read.options));
  if (read.options.model.empty())
    return Error{Errc::invalid, "plan: expected a model in vLLM's command, found none",
                 "headroom plan -- vllm serve Qwen/Qwen3-8B --max-model-len 8192"};
  return load(std::move(read), flags);
}

Result<VllmJob> load_vllm_job(const JobFile& file, const JobFlags& flags) {
  auto read = estimate::vllm::read_options(file.document.value["engine"]);
  if (!read) return std::move(read).error().in(file.name);
  HEADROOM_TRY(read->options.model, model_of(file));
  JobFlags device = flags;
  add_device(file.document.value, device);
  return load(*std::move(read), device);
}

}  // namespace headroom::run
