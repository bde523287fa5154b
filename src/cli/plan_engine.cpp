// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/plan_diffusion.h"
#include "cli/plan_llama.h"
#include "cli/plan_vllm.h"

namespace headroom::cli {
namespace {

std::vector<std::string>& notes_of(run::LlamaJob& job) {
  return job.notes;
}
std::vector<std::string>& notes_of(run::OllamaJob& job) {
  return job.llama.notes;
}
std::vector<std::string>& notes_of(run::VllmJob& job) {
  return job.notes;
}
std::vector<std::string>& notes_of(run::DiffusionJob& job) {
  return job.notes;
}

// What is asked of one program: nothing but what its own plan answers.
class Asked {
 public:
  Asked(const char* program, const EngineQuestion& question, const Context& context)
      : program_(program), question_(question), context_(context) {}

  template <typename Load, typename Answer>
  int answer(const Load& load, const Answer& answer) const {
    if (!question_.unfit.empty())
      return print_error(context_,
                         {Errc::invalid,
                          fmt::format("{}: expected a job that PyTorch runs, found one for {}",
                                      question_.unfit, program_),
                          "leave it out: the answer says what fits, and the arguments to type"},
                         exit_usage);
    auto job = load();
    if (!job) return print_error(context_, job.error(), exit_usage);
    std::vector<std::string>& notes = notes_of(*job);
    notes.insert(notes.begin(), question_.notes.begin(), question_.notes.end());
    return answer(*std::move(job), question_.root, question_.json, context_);
  }

 private:
  const char* program_;
  const EngineQuestion& question_;
  const Context& context_;
};

// A file's name may begin like a program's; a program's command has options.
bool is_llama_command(const std::vector<std::string>& words) {
  return estimate::llama::is_llama_command(words) &&
         std::any_of(words.begin() + 1, words.end(),
                     [](const std::string& word) { return word.starts_with('-'); });
}

}  // namespace

std::optional<int> plan_engine_command(const std::vector<std::string>& words,
                                       const EngineQuestion& question, const Context& context) {
  const run::JobFlags& flags = question.flags;
  if (is_llama_command(words))
    return Asked("llama.cpp", question, context)
        .answer([&] { return run::load_llama_command(words, flags); }, plan_llama);
  if (run::is_ollama_command(words))
    return Asked("ollama", question, context)
        .answer([&] { return run::load_ollama_command(words, flags, context.environment); },
                plan_ollama);
  if (run::is_vllm_command(words))
    return Asked("vLLM", question, context)
        .answer([&] { return run::load_vllm_command(words, flags); }, plan_vllm);
  return std::nullopt;
}

std::optional<int> plan_engine_job(const run::JobFile& file, const EngineQuestion& question,
                                   const Context& context) {
  const run::JobFlags& flags = question.flags;
  const bool has_flag = flags.flags.contains("engine.kind");
  // --engine transformers plans the same model as PyTorch runs it.
  if (run::is_diffusion_job(file, flags))
    return Asked("diffusers", question, context)
        .answer([&] { return run::load_diffusion_job(file, flags); }, plan_diffusion);
  const bool is_overruled = has_flag && flags.keys["engine"]["kind"] != file.engine();
  const std::string engine = is_overruled ? "" : file.engine();
  if (engine == "ollama")
    return Asked("ollama", question, context)
        .answer([&] { return run::load_ollama_job(file, flags, context.environment); },
                plan_ollama);
  if (engine == "vllm")
    return Asked("vLLM", question, context)
        .answer([&] { return run::load_vllm_job(file, flags); }, plan_vllm);
  if (engine == "llama.cpp")
    return Asked("llama.cpp", question, context)
        .answer([&] { return run::load_llama_job(file, flags); }, plan_llama);
  // A GGUF file is what llama.cpp runs, unless something is asked that PyTorch alone answers.
  if (!file.is_model || !file.path.ends_with(".gguf") || !run::names_only_a_device(flags) ||
      !question.unfit.empty())
    return std::nullopt;
  return Asked("llama.cpp", question, context)
      .answer(
          [&] {
            return run::load_llama_model(file.path, {Json::object(), {}}, flags);
          },
          plan_llama);
}

}  // namespace headroom::cli
