// SPDX-License-Identifier: Apache-2.0
// `headroom plan`: what a job will take, before it runs.
#include "estimate/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/calibration.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/host_memory.h"
#include "cli/past_runs.h"
#include "cli/plan_engine.h"
#include "cli/plan_flags.h"
#include "cli/plan_page.h"
#include "cli/present_gpu.h"
#include "cli/refuse_outputs.h"
#include "machine/terminal.h"
#include "report/past_runs_report.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "run/job_file.h"
#include "run/job_inputs.h"
#include "run/script_log.h"
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
  std::string from;  // A log.
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
  // Nobody names a job file by a word without a dot, and words behind it.
  const bool is_program =
      !options.rest.empty() && !options.job.empty() && options.job.find('.') == std::string::npos;
  return is_program || run::is_training_program(words_of(options)) ||
         std::any_of(options.rest.begin(), options.rest.end(),
                     [](const std::string& word) { return word.starts_with('-'); });
}

// What is to be planned, whatever it was given as.
struct Request {
  std::string spec;  // A job file; empty: the flags are all of it.
  run::JobFlags flags;
  std::vector<std::string> notes;  // What was taken from where.
  std::string recipe;              // A file of the command; empty: there is none.
  report::SettingWords words;      // How the advice names settings.
};

// Settings of a training program in the place of a job; headroom's own options win over them.
void take_training(run::TrainingCommand command, Request& request) {
  const bool in_recipe =
      !command.recipe.empty() || command.program == run::TrainingProgram::axolotl;
  command.flags.add(request.flags);
  request.flags = std::move(command.flags);
  request.notes = std::move(command.notes);
  request.recipe = std::move(command.recipe);
  request.words = [program = command.program, in_recipe](const auto& change) {
    return run::to_words(change, program, in_recipe);
  };
}

// "--fit" is not among them: such a plan always says what fits.
std::string unfit_for_engines(const Options& options) {
  if (!options.html.empty()) return "--html";
  if (!options.record.empty()) return "--record";
  return options.largest.empty() ? "" : "--largest";
}

EngineQuestion question_of(const Options& options, const run::JobFlags& flags) {
  return {flags, options.root, options.json, unfit_for_engines(options), {}};
}

bool names_device(const run::JobFlags& flags) {
  return flags.flags.contains("device.gpu") || flags.flags.contains("device.capacity");
}

// Who names a captured machine means its GPU.
void take_captured_gpu(const Options& options, run::JobFlags& flags) {
  if (options.root == "/" || !options.explain.empty() || names_device(flags)) return;
  flags.set("device.gpu", "auto", "--root");
}

// The log of a run in the place of a job. The exit code where another program's plan answers.
std::optional<int> read_log(const Options& options, Request& request, const Context& context) {
  if (!options.job.empty() || !options.spec.empty() || !options.rest.empty())
    return print_error(context,
                       {Errc::invalid, "plan: expected a job or --from LOG, found both",
                        "leave one out; options beside --from win over the log"},
                       exit_usage);
  auto log = run::read_script_log(options.from, request.flags);
  if (!log) return print_error(context, log.error(), exit_usage);
  if (!names_device(request.flags)) request.flags.add(log->device);
  if (log->command.empty()) {
    take_training(std::move(log->training), request);
    request.notes = std::move(log->notes);
    return std::nullopt;
  }
  EngineQuestion question = question_of(options, request.flags);
  question.flags.keys.erase("model");
  for (const char* key : {"model.name", "model.config"}) question.flags.flags.erase(key);
  question.notes = std::move(log->notes);
  if (!options.explain.empty()) question.unfit = "--explain";
  return plan_engine_command(log->command, question, context);
}

// What the words say. The exit code where another program's plan answers, and on a mistake.
std::optional<int> read_words(const Options& options, Request& request, const Context& context) {
  const std::vector<std::string> words = words_of(options);
  if (options.explain.empty()) {
    const auto answered = plan_engine_command(words, question_of(options, request.flags), context);
    if (answered) return answered;
  }
  if (is_command(options)) {
    auto command = run::parse_training_command(words);
    if (!command) return print_error(context, command.error(), exit_usage);
    take_training(*std::move(command), request);
    return std::nullopt;
  }
  request.spec = options.spec.empty() ? options.job : options.spec;
  if (request.spec.empty()) request.words = PlanFlags::to_words;
  if (!options.explain.empty()) return std::nullopt;
  Error wrong;
  if (!options.rest.empty())
    wrong = {Errc::invalid,
             fmt::format("plan: one argument too many: \"{}\"", options.rest.front()),
             "headroom plan --help"};
  else if (request.spec.empty() && request.flags.empty())
    wrong = {Errc::invalid, "plan: expected a job, found none",
             "headroom plan JOB.toml, or headroom plan --model Qwen/Qwen2.5-3B"};
  if (wrong.message.empty()) return std::nullopt;
  return print_error(context, wrong, exit_usage);
}

struct Planned {
  run::LoadedJob loaded;
  estimate::Device device;
  estimate::Plan plan;
};

int print_plan(const Options& options, const Request& request, const Planned& planned,
               const Context& context) {
  const auto& [loaded, device, plan] = planned;
  if (!options.html.empty()) context.printer.finish_first();
  const estimate::PastErrors past = look_up_past(plan, loaded.model, context);
  const report::JobTime time = find_job_time(plan, loaded, options.root, context);
  if (options.json) {
    Json json = report::to_json(plan);
    json["history"] = report::to_json(past);
    json["time"] = report::to_json(time, json["missing"]);
    if (past.runs == 0) json["missing"]["/history"] = "no run of such a job is recorded here";
    context.printer.print_json(json);
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(plan, loaded.model, style, request.words) +
                          report::to_text(time, style) + report::to_text(past, style.width));
  }
  if (const auto warning = warn_of_host_memory(plan)) print_error(context, *warning, exit_ok);
  if (!options.html.empty()) {
    const auto written = write_plan_page(options.html, plan, loaded, device);
    if (!written) return print_error(context, written.error(), exit_could_not_look);
  }
  return plan.fits == false ? exit_findings : exit_ok;
}

int plan_request(const Options& options, const Request& request, const Context& context) {
  const run::JobFlags& flags = request.flags;
  auto file = run::read_job_file(request.spec);
  if (!file) return print_error(context, file.error(), exit_usage);
  if (const auto answered = plan_engine_job(*file, question_of(options, flags), context))
    return *answered;
  const std::string name = file->name;
  auto loaded = run::load_job(*std::move(file), flags);
  if (!loaded) return print_error(context, loaded.error(), exit_usage);
  loaded->model.notes.insert(loaded->model.notes.begin(), request.notes.begin(),
                             request.notes.end());
  machine::InputFiles inputs = run::inputs_of(request.spec, flags, *loaded);
  for (const std::string& read : {request.recipe, options.from})
    if (!read.empty()) inputs.files.push_back(read == "-" ? "/dev/stdin" : read);
  const auto refused = refuse_page(options, std::move(inputs), context);
  if (refused) return *refused;
  auto device = find_planned_device(loaded->job, options.root, context);
  if (!device)
    return print_error(context, run::place_error(device.error(), flags, name), exit_usage);
  auto plan = estimate::make_plan(loaded->job, loaded->model, *device, asked_of(options));
  if (!plan) return print_error(context, run::place_error(plan.error(), flags, name), exit_usage);
  if (!options.record.empty())
    return record_past_run(options.record, *plan, loaded->model, context);
  return print_plan(options, request, {*std::move(loaded), *std::move(device), *std::move(plan)},
                    context);
}

int run_plan(const Options& options, const Context& context) {
  if (options.history) return list_past_runs(options.json, context);
  Request request;
  auto flags = options.flags.read();
  if (!flags) return print_error(context, flags.error(), exit_usage);
  request.flags = *std::move(flags);
  take_captured_gpu(options, request.flags);
  const auto answered = options.from.empty() ? read_words(options, request, context)
                                             : read_log(options, request, context);
  if (answered) return *answered;
  if (!options.explain.empty()) return explain(to_explain(options, request.flags), context);
  return plan_request(options, request, context);
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "plan", "Predict the peak memory of a job before it runs, and find settings that fit");
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
                   "torchtune, llama.cpp, ollama or vLLM; with --explain, any command")
      ->type_name("COMMAND");
  command->add_flag("--fit", options->fit,
                    "Also look for faster settings if the job fits. If it does not fit, headroom "
                    "always prints settings that would");
  command
      ->add_option("--largest", options->largest,
                   "Also find the largest batch or the longest sequence that fits")
      ->type_name("batch|sequence")
      ->check(CLI::IsMember({"batch", "sequence"}));
  command
      ->add_option("--root", options->root,
                   "Plan for the GPU of a captured machine, as headroom check --root reads it")
      ->type_name("PATH");
  options->flags.add_to(*command);
  command
      ->add_option("--html", options->html,
                   "Write an HTML page that shows the step as a picture; it needs no network")
      ->type_name("FILE");
  command
      ->add_option("--from", options->from,
                   "Read the job from what a run printed: the log of a training run, of vLLM or of "
                   "llama.cpp; - for standard input")
      ->type_name("LOG");
  command->add_flag("--history", options->history, "List past runs, planned and measured");
  command
      ->add_option("--record", options->record,
                   "Add a run of this job from elsewhere to the history, from its report: "
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
      "  headroom plan --from train.log --gpu MI50               what a run printed\n"
      "  headroom plan --gpu MI300X -- vllm serve Qwen/Qwen3-8B  how much vLLM's cache will hold");
  command->callback([options, &context] { context.exit_code = run_plan(*options, context); });
}

}  // namespace headroom::cli
