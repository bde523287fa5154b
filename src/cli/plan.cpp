// SPDX-License-Identifier: Apache-2.0
// `headroom plan`: what a job will take, before it runs.
#include "estimate/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/host_memory.h"
#include "cli/past_runs.h"
#include "cli/plan_flags.h"
#include "cli/plan_llama.h"
#include "cli/plan_page.h"
#include "cli/plan_vllm.h"
#include "cli/present_gpu.h"
#include "cli/refuse_outputs.h"
#include "machine/terminal.h"
#include "report/past_runs_report.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "run/job_file.h"
#include "run/job_inputs.h"
#include "run/training_command.h"

namespace headroom::cli {
namespace {

struct Options {
  std::string job;                // The first argument.
  std::vector<std::string> rest;  // The other ones: of a command behind "--".
  std::string spec;
  PlanFlags flags;
  std::string root = "/";
  std::string explain;
  std::string html;
  std::string record;
  bool history = false;
  bool fit = false;
  std::string largest;
  bool json = false;
};

estimate::Asked asked_of(const Options& options) {
  estimate::Asked asked;
  asked.settings = options.fit;
  if (options.largest == "batch") asked.largest = estimate::Quantity::batch;
  if (options.largest == "sequence") asked.largest = estimate::Quantity::sequence;
  return asked;
}

// "headroom plan --explain 3.99GiB -- python main.py --batch_size 64": the arguments are a job or a
// command.
ExplainOptions to_explain(const Options& options, const run::JobFlags& flags) {
  ExplainOptions asked{options.explain, options.spec, options.rest, flags, options.json};
  const bool is_command = !options.rest.empty() || options.job.find(' ') != std::string::npos;
  if (is_command) {
    asked.command.insert(asked.command.begin(), options.job);
  } else if (!options.job.empty()) {
    asked.spec = options.job;
  }
  return asked;
}

// Before any time is spent.
std::optional<int> refuse_page(const Options& options, machine::InputFiles inputs,
                               const Context& context) {
  inputs.files.push_back(options.record);
  inputs.add(machine::captured_machine(options.root));
  return refuse_outputs({{"--html", options.html}}, inputs, context);
}

// All that stands where a job or a command may.
std::vector<std::string> words_of(const Options& options) {
  std::vector<std::string> words = options.rest;
  words.insert(words.begin(), options.job);
  return words;
}

// Words that begin with a dash come here only from behind "--".
bool is_command(const Options& options) {
  if (!options.explain.empty()) return false;
  return run::is_training_program(words_of(options)) ||
         std::any_of(options.rest.begin(), options.rest.end(),
                     [](const std::string& word) { return word.starts_with('-'); });
}

// The command's arguments in the place of a job; flags of headroom's own win over them.
Result<run::TrainingCommand> read_command(Options& options, const run::JobFlags& own) {
  const std::vector<std::string> words = words_of(options);
  options.rest.clear();
  options.job.clear();
  HEADROOM_TRY(run::TrainingCommand command, run::parse_training_command(words));
  if (own.flags.contains("model.name") || own.flags.contains("model.config"))
    command.flags.keys.erase("model");
  for (const auto& [key, flag] : own.flags) {
    const std::size_t dot = key.find('.');
    command.flags.set(key, own.keys[key.substr(0, dot)][key.substr(dot + 1)], flag);
  }
  return command;
}

// Answers where a program of its own runs the model; nothing where the job is another one. `load`
// reads the command if it is the program's, and `find` a job file.
template <typename Load, typename Find, typename Answer>
std::optional<int> plan_under(const Load& load, const Find& find, const Answer& answer,
                              const Options& options, const Context& context) {
  if (!options.explain.empty() || !options.html.empty() || !options.record.empty()) return {};
  if (auto typed = load(words_of(options))) {
    if (!*typed) return print_error(context, typed->error(), exit_usage);
    return answer(**std::move(typed), options.root, options.json, context);
  }
  if (!options.rest.empty() || options.fit || !options.largest.empty()) return {};
  auto job = find(options.spec.empty() ? options.job : options.spec);
  if (!job) return print_error(context, job.error(), exit_usage);
  if (!*job) return {};
  return answer(**std::move(job), options.root, options.json, context);
}

using Words = std::vector<std::string>;

std::optional<Result<run::LlamaJob>> typed_for_llama(const Options& options, const Words& words,
                                                     const run::JobFlags& flags) {
  if (!is_command(options) || !estimate::llama::is_llama_command(words)) return std::nullopt;
  return run::load_llama_command(words, flags);
}

std::optional<Result<run::OllamaJob>> typed_for_ollama(const Words& words,
                                                       const run::JobFlags& flags,
                                                       const std::string& environment) {
  if (!run::is_ollama_command(words)) return std::nullopt;
  return run::load_ollama_command(words, flags, environment);
}

std::optional<Result<run::VllmJob>> typed_for_vllm(const Words& words, const run::JobFlags& flags) {
  if (!run::is_vllm_command(words)) return std::nullopt;
  return run::load_vllm_command(words, flags);
}

std::optional<int> plan_under_any(const Options& options, const run::JobFlags& flags,
                                  const Context& context) {
  const std::string& environment = context.environment;
  if (const auto answered =
          plan_under([&](const Words& words) { return typed_for_llama(options, words, flags); },
                     [&](const auto& path) { return run::load_llama_job(path, flags); }, plan_llama,
                     options, context))
    return answered;
  if (const auto answered = plan_under(
          [&](const Words& words) { return typed_for_ollama(words, flags, environment); },
          [&](const auto& path) { return run::load_ollama_job(path, flags, environment); },
          plan_ollama, options, context))
    return answered;
  return plan_under([&](const Words& words) { return typed_for_vllm(words, flags); },
                    [&](const auto& path) { return run::load_vllm_job(path, flags); }, plan_vllm,
                    options, context);
}

int run_plan(Options options, const Context& context) {
  if (options.history) return list_past_runs(options.json, context);
  auto flags = options.flags.read();
  if (flags) {
    if (const auto answered = plan_under_any(options, *flags, context)) return *answered;
  }
  std::vector<std::string> notes;
  report::SettingWords words;
  std::string recipe;
  if (flags && is_command(options)) {
    auto command = read_command(options, *flags);
    if (!command) return print_error(context, command.error(), exit_usage);
    flags = std::move(command->flags);
    notes = std::move(command->notes);
    recipe = command->recipe;
    words = [program = command->program, in_recipe = !command->recipe.empty()](const auto& change) {
      return run::to_words(change, program, in_recipe);
    };
  }
  if (!flags) return print_error(context, flags.error(), exit_usage);
  if (!options.explain.empty()) return explain(to_explain(options, *flags), context);
  if (!options.rest.empty())
    return print_error(
        context,
        {Errc::invalid, fmt::format("plan: one argument too many: \"{}\"", options.rest.front()),
         "headroom plan --help"},
        exit_usage);
  const std::string& spec = options.spec.empty() ? options.job : options.spec;
  if (spec.empty() && flags->empty())
    return print_error(context,
                       {Errc::invalid, "plan: expected a job, found none",
                        "headroom plan JOB.toml, or headroom plan --model Qwen/Qwen2.5-3B"},
                       exit_usage);
  const std::string name = spec == "-" ? "standard input" : spec.empty() ? "plan" : spec;
  auto loaded = run::load_job(spec, *flags);
  if (!loaded) return print_error(context, loaded.error(), exit_usage);
  loaded->model.notes.insert(loaded->model.notes.begin(), notes.begin(), notes.end());
  machine::InputFiles inputs = run::inputs_of(spec, *flags, *loaded);
  if (!recipe.empty()) inputs.files.push_back(recipe);
  const auto refused = refuse_page(options, std::move(inputs), context);
  if (refused) return *refused;
  auto device = find_planned_device(loaded->job, options.root, context);
  if (!device)
    return print_error(context, run::place_error(device.error(), *flags, name), exit_usage);
  auto plan = estimate::make_plan(loaded->job, loaded->model, *device, asked_of(options));
  if (!plan) return print_error(context, run::place_error(plan.error(), *flags, name), exit_usage);
  if (!options.record.empty())
    return record_past_run(options.record, *plan, loaded->model, context);
  if (!options.html.empty()) context.printer.finish_first();
  const estimate::PastErrors past = look_up_past(*plan, loaded->model, context);
  if (options.json) {
    Json json = report::to_json(*plan);
    json["history"] = report::to_json(past);
    if (past.runs == 0) json["missing"]["/history"] = "no run of such a job is recorded here";
    context.printer.print_json(json);
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(*plan, loaded->model, style, words) +
                          report::to_text(past, style.width));
  }
  if (const auto warning = warn_of_host_memory(*plan)) print_error(context, *warning, exit_ok);
  if (!options.html.empty()) {
    const auto written = write_plan_page(options.html, *plan, *loaded, *device);
    if (!written) return print_error(context, written.error(), exit_could_not_look);
  }
  return plan->fits == false ? exit_findings : exit_ok;
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "plan", "Predict the peak memory of a job before it runs, and what would fit");
  auto* job = command->add_option("JOB", options->job,
                                  "The job: a TOML or JSON file, - for standard input, or a GGUF, "
                                  "ONNX or safetensors file");
  job->type_name("JOB");
  command->add_option("--spec", options->spec, "The same as JOB")->type_name("FILE")->excludes(job);
  command
      ->add_option(
          "--explain", options->explain,
          "Name the tensor of this size, as the error message printed it: 3.99GiB. The job "
          "may be a command: headroom plan --explain 3.99GiB -- CMD ...")
      ->type_name("SIZE");
  command
      ->add_option("COMMAND", options->rest,
                   "The command of a Hugging Face Trainer's script, TRL, LLaMA-Factory, Axolotl, "
                   "llama.cpp, ollama or vLLM; with --explain, any command")
      ->type_name("COMMAND");
  command->add_flag(
      "--fit", options->fit,
      "Also look for faster settings if the job fits; if it does not, what would fit is "
      "always printed");
  command
      ->add_option("--largest", options->largest,
                   "Also find the largest batch or the longest sequence that fits")
      ->type_name("batch|sequence")
      ->check(CLI::IsMember({"batch", "sequence"}));
  command
      ->add_option("--root", options->root,
                   "With --gpu auto: a captured machine, as for headroom check --root")
      ->type_name("PATH");
  options->flags.add_to(*command);
  command
      ->add_option("--html", options->html,
                   "Write a page that shows the step as a picture; it needs no network")
      ->type_name("FILE");
  command->add_flag("--history", options->history,
                    "List past runs, with what was planned and what was measured");
  command
      ->add_option("--record", options->record,
                   "Add a run of this job that was made elsewhere to the history, from its report: "
                   "{\"measured\": {\"allocated_bytes\": N}}")
      ->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print JSON (headroom.plan/1; with --explain headroom.explain/1)");
  command->footer(
      "Exit: 0 it fits, or no device was given; 1 it does not fit; 2 wrong usage, or a mistake in "
      "the job; 3 could not look or write.\n\n"
      "Examples:\n"
      "  headroom plan job.toml                                  a job from a file\n"
      "  headroom plan --model Qwen/Qwen2.5-3B --method lora --gpu MI50   a model by name, on a "
      "card\n"
      "  headroom plan model.gguf                                inference with the weights of a "
      "file\n"
      "  headroom plan -- python train.py --model_name_or_path Qwen/Qwen2.5-0.5B --bf16   the "
      "command "
      "of a Trainer's script\n"
      "  headroom plan -- axolotl train config.yml               a recipe, as its program trains "
      "it\n"
      "  headroom plan --gpu MI300X -- vllm serve Qwen/Qwen3-8B  what vLLM's cache will hold");
  command->callback([options, &context] { context.exit_code = run_plan(*options, context); });
}

}  // namespace headroom::cli
