// SPDX-License-Identifier: Apache-2.0
// headroom-train JOB: reads the job, plans it, trains it, and says how right the plan was.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/bytes.h"
#include "base/document.h"
#include "base/text.h"
#include "base/version.h"
#include "command_line/pages.h"
#include "command_line/usage.h"
#include "estimate/plan.h"
#include "machine/output_files.h"
#include "machine/printer.h"
#include "machine/terminal.h"
#include "report/plan_json.h"
#include "run/job_file.h"
#include "run/job_inputs.h"
#include "run/job_ranks.h"
#include "run/output_folder.h"
#include "trainer/calibration/calibrate.h"
#include "trainer/check_files.h"
#include "trainer/checkpoint.h"
#include "trainer/compare_peaks.h"
#include "trainer/gpu_settings.h"
#include "trainer/oom_score.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run_identity.h"
#include "trainer/training.h"

namespace headroom::trainer {
namespace {

// The same numbers as `headroom`'s exit codes.
enum ExitCode : int { exit_ok = 0, exit_failed = 1, exit_usage = 2, exit_could_not_look = 3 };

struct Arguments {
  std::string job;
  std::string output;
  std::string trace;
  std::string base;
  std::string allocator = "headroom";
  std::string device = "auto";
  bool resume = false;
  std::vector<std::string> allowed_changes;
  bool calibrate = false;
  bool quiet = false;
  bool json = false;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal has no other way in.
volatile std::sig_atomic_t stop_requested = 0;

extern "C" void request_stop(int /*signal*/) {
  stop_requested = 1;
}

// One line that is rewritten on a terminal, else a plain line every few seconds.
class ConsoleObserver final : public Observer {
 public:
  // Of several ranks only the one that writes speaks.
  ConsoleObserver(machine::Printer& printer, bool quiet, bool leads)
      : printer_(printer),
        quiet_(quiet || !leads),
        stays_quiet_(quiet),
        terminal_(machine::stderr_is_terminal()) {}

  void on_note(const std::string& text) override {
    close_line();
    if (!quiet_) printer_.note(text);
  }

  void on_step(const StepMetrics& m) override {
    if (quiet_) return;
    const bool last = m.step == m.steps;
    if (!terminal_ && !last && first_step_ != 0 && m.elapsed_s - printed_at_s_ < plain_interval_s)
      return;
    printed_at_s_ = m.elapsed_s;
    if (first_step_ == 0) first_step_ = m.step;
    const double left = static_cast<double>(m.steps - m.step) * m.elapsed_s /
                        static_cast<double>(m.step - first_step_ + 1);
    const std::string line = fmt::format(
        "  step {:>{}}/{}  epoch {}  loss {:.4f}  {:>6.0f} tokens/s  peak {}  {}", m.step,
        std::to_string(m.steps).size(), m.steps, m.epoch, m.loss, m.tokens_per_s(), peak_of(m),
        last ? fmt::format("{:.0f} s", m.elapsed_s) : fmt::format("about {:.0f} s left", left));
    if (!terminal_) {
      printer_.say(line + "\n");
      return;
    }
    printer_.rewrite_line(line);
    line_open_ = true;
    if (last) close_line();
  }

  void on_evaluation(const EvaluationMetrics& m) override {
    on_note(fmt::format("after step {}: loss {:.4f} on the evaluation data{}", m.step, m.loss,
                        m.best ? ", the best so far" : ""));
  }

  void on_lead() override { quiet_ = stays_quiet_; }
  bool wants_stop() override { return stop_requested != 0; }

  void close_line() {
    if (line_open_) printer_.say("\n");
    line_open_ = false;
  }

 private:
  static constexpr double plain_interval_s = 5;
  machine::Printer& printer_;
  bool quiet_;
  bool stays_quiet_;  // It was asked for.
  bool terminal_;
  bool line_open_ = false;
  double printed_at_s_ = 0;
  std::uint64_t first_step_ = 0;  // That this process did; a resumed run begins later.
};

int fail(machine::Printer& printer, const Error& error, ExitCode code) {
  printer.tell(error);
  return code;
}

// What a run that could not begin exits with.
ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case Errc::out_of_memory:
    case Errc::no_space:
      return exit_failed;
    case Errc::invalid:
    case Errc::unsupported:
      return exit_usage;
    default:
      return exit_could_not_look;
  }
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here sets any.
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// A split job has a process for each stage, none of which can be done without.
Status check_place(const RankPlace& place, std::uint64_t stages, const std::string& job) {
  if (stages > 1 && place.rendezvous)
    return Error{Errc::unsupported,
                 fmt::format("engine.stages = {}: expected processes of one machine that headroom "
                             "has started, found those of another launcher",
                             stages),
                 "headroom run " + job + ", or engine.stages = 1"};
  if (stages == 1 || (place.ranks == stages && !place.goes_on)) return Done{};
  return Error{
      Errc::invalid,
      fmt::format(
          "engine.stages = {}: expected {} processes that end together, found {}", stages, stages,
          place.goes_on ? "such that go on without a lost one" : std::to_string(place.ranks)),
      "headroom run " + job};
}

// A launcher that starts the ranks anew after a failure gives them the words of the first time.
bool goes_on_by_itself(const RankPlace& place, const std::string& output) {
  if (!place.rendezvous || place.rendezvous->tried == 0) return false;
  std::error_code unreadable;
  return std::filesystem::exists(checkpoint_path(output), unreadable);
}

Result<TrainRequest> make_request(const Arguments& arguments) {
  TrainRequest request;
  HEADROOM_TRY(request.place, read_rank_place(variable));
  HEADROOM_TRY(run::LoadedJob loaded, run::load_job(arguments.job));
  HEADROOM_TRY(const estimate::Device device, estimate::find_device(loaded.job));
  HEADROOM_TRY(estimate::Plan plan, estimate::make_plan(loaded.job, loaded.model, device));
  loaded.job = plan.job;
  const std::uint64_t stages = loaded.job.engine.stages;
  HEADROOM_CHECK(check_place(request.place, stages, arguments.job));
  if (!request.place.is_alone() && stages == 1) {
    HEADROOM_TRY(plan, run::plan_rank(plan, loaded, request.place.ranks));
  }
  HEADROOM_TRY(request.settings, make_settings(loaded));
  request.chosen = loaded.chosen;
  if (stages > 1) request.settings.model.part = plan.stages.at(request.place.rank).part;
  HEADROOM_TRY(const auto note, choose_device(arguments.device, request.place, request.settings));
  if (note) request.chosen += (request.chosen.empty() ? "" : "; ") + *note;
  request.predicted = report::to_json(plan);
  request.automatic = loaded.automatic;
  request.tensorboard = loaded.tensorboard;
  request.trace_path = arguments.trace;
  request.base_folder = arguments.base;
  request.allowed_changes = arguments.allowed_changes;
  if (arguments.allocator == "libtorch") request.memory = MemorySource::libtorch;
  const estimate::Job::Model& model = loaded.job.model;
  if (request.settings.model_folder) {
    request.base_model = *request.settings.model_folder;
  } else if (model.name) {
    request.base_model = *model.name;
  }
  request.output = run::output_folder(loaded, arguments.output);
  if (request.output.empty()) {
    return Error{Errc::invalid, "expected a folder for the results, found none",
                 fmt::format("headroom-train {} --output DIR", arguments.job)};
  }
  request.resume = arguments.resume || goes_on_by_itself(request.place, request.output);
  HEADROOM_CHECK(check_files(request, run::inputs_of(arguments.job, {}, loaded)));
  return request;
}

// The end of a rank that does not write: it speaks only of what went wrong here and nowhere else.
// Where another one says it, it waits to be told to: who started them takes the first end for the
// job's.
int end_beside(const Result<TrainOutcome>& outcome, const RankPlace& place,
               machine::Printer& printer) {
  using namespace std::chrono_literals;
  constexpr auto look = 20ms, longest = 5000ms;
  const Error& error = outcome ? outcome->status.error() : outcome.error();
  const bool is_told = is_of_another_rank(error) || (outcome && outcome->is_known_to_all);
  if (is_told) {
    for (auto waited = 0ms; stop_requested == 0 && waited < longest; waited += look)
      std::this_thread::sleep_for(look);
  }
  if (is_told || stop_requested != 0) return exit_failed;
  return fail(printer, Error(error).in(fmt::format("rank {}", place.rank)),
              outcome ? exit_failed : exit_code_of(error));
}

int run_job(const Arguments& arguments, machine::Printer& printer) {
  const auto request = make_request(arguments);
  if (!request) return fail(printer, request.error(), exit_usage);
  const bool leads = request->place.rank == 0 && !request->place.comes_back;
  ConsoleObserver observer(printer, arguments.quiet, leads);
  if (!request->chosen.empty()) observer.on_note(request->chosen);
  const auto outcome = train(*request, observer);
  observer.close_line();
  const bool is_beside = outcome ? !outcome->leads : !leads;
  if (outcome && outcome->status && is_beside) return exit_ok;
  if (is_beside) return end_beside(outcome, request->place, printer);
  if (!outcome) return fail(printer, outcome.error(), exit_code_of(outcome.error()));
  if (arguments.json) printer.print_json(outcome->report);
  if (!outcome->records) fail(printer, outcome->records.error(), exit_failed);
  if (outcome->out_of_memory) {
    printer.note(to_text(*outcome->out_of_memory));
    return exit_failed;
  }
  if (!outcome->status) return fail(printer, outcome->status.error(), exit_failed);
  if (!outcome->records) return exit_failed;
  observer.on_note(compare_peaks(outcome->report));
  const Json& evaluation = outcome->report["evaluation"];
  if (!evaluation.is_null())
    observer.on_note(fmt::format("the best model, after step {}, is in {}/best",
                                 evaluation["best_step"].get<std::uint64_t>(), request->output));
  observer.on_note(fmt::format("done; results are in {}", request->output));
  return exit_ok;
}

int run_calibration(const Arguments& arguments, machine::Printer& printer) {
  calibration::CalibrationRequest request;
  request.on_stage = [&](const std::string& text) {
    if (!arguments.quiet) printer.note(text);
  };
  request.wants_stop = [] { return stop_requested != 0; };
  const auto calibrated = calibration::calibrate(request);
  if (!calibrated) return fail(printer, calibrated.error(), exit_could_not_look);
  printer.print_json(estimate::to_json(*calibrated));
  return exit_ok;
}

// Help and version are an answer; what is wrong with the command line is not.
int print_usage(const CLI::App& app, const CLI::ParseError& problem,
                const std::vector<std::string>& words, machine::Printer& printer) {
  if (const auto answer = command_line::find_answer(app, problem, machine::stdout_width())) {
    printer.print(*answer);
    return exit_ok;
  }
  return fail(printer, command_line::make_usage_error(app, problem, words), exit_usage);
}

void add_options(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", std::string("headroom-train ") + program_version(),
                       "Print the version");
  CLI::Option* job =
      app.add_option("JOB", arguments.job, "The job: a TOML or JSON file")->type_name("JOB");
  app.add_option("--output", arguments.output, "The folder for everything that the run writes")
      ->type_name("DIR");
  app.add_option("--trace", arguments.trace,
                 "Record every allocation in this file, for headroom replay")
      ->type_name("FILE");
  app.add_option(
         "--allocator", arguments.allocator,
         "Which allocator holds the tensors (default: headroom, within the job's capacity); "
         "libtorch's is neither limited nor counted, and is there to compare speed")
      ->type_name("headroom|libtorch")
      ->check(CLI::IsMember({"headroom", "libtorch"}));
  app.add_option("--device", arguments.device,
                 "Where to compute (default: on the GPU if this libtorch sees one, else on the "
                 "processor)")
      ->type_name("auto|cpu|gpu")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}));
  app.add_option("--save-base", arguments.base,
                 "With method.kind = \"qlora\": write the quantised base there, as transformers "
                 "and bitsandbytes read it, before the training begins")
      ->type_name("DIR");
  CLI::Option* resume = app.add_flag("--resume", arguments.resume,
                                     "Continue from the checkpoint in the output folder");
  app.add_option("--allow-change", arguments.allowed_changes,
                 "With --resume: a setting that may differ from the checkpoint's; may be repeated")
      ->type_name(join(changeable_settings(), "|"))
      ->allow_extra_args(false)
      ->check(CLI::IsMember(changeable_settings()))
      ->needs(resume);
  app.add_flag("--calibrate", arguments.calibrate,
               "Instead of a job: measure for about a minute how fast this machine trains, and "
               "print that as JSON; headroom test --calibrate saves it for headroom plan")
      ->excludes(job);
  app.add_flag("--quiet", arguments.quiet, "Print errors only");
  app.add_flag("--json", arguments.json, "Print the report (headroom.train/1) on standard output");
  app.footer("Exit: 0 trained, 1 failed, 2 wrong usage, 3 something was missing.");
}

// Called by the build, not by people: `headroom-train --write-pages DIR DATE` writes its man page
// and completions.
bool asks_for_pages(int argc, char** argv) {
  constexpr int words = 4;
  return argc == words && std::string_view(argv[1]) == "--write-pages";
}

int write_pages(const CLI::App& app, const std::string& folder, const std::string& date,
                machine::Printer& printer) {
  for (const auto& [path, text] :
       command_line::make_pages(command_line::describe(app), {program_version(), date})) {
    const auto written = machine::write_output({"DIR", folder + "/" + path}, text);
    if (!written) return fail(printer, written.error(), exit_could_not_look);
  }
  return exit_ok;
}

int parse_and_run(int argc, char** argv, machine::Printer& printer) {
  CLI::App app{"Train a model as its job file says, inside the job's memory", "headroom-train"};
  Arguments arguments;
  add_options(app, arguments);
  if (asks_for_pages(argc, argv)) return write_pages(app, argv[2], argv[3], printer);
  try {
    app.parse(argc, argv);
    if (arguments.job.empty() && !arguments.calibrate) throw CLI::RequiredError("JOB");
  } catch (const CLI::ParseError& problem) {
    std::vector<std::string> words = {"headroom-train"};
    for (int i = 1; i < argc; ++i) words.emplace_back(argv[i]);
    return print_usage(app, problem, words, printer);
  }
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  std::signal(SIGUSR1, request_stop);  // What Slurm sends ahead of the end (--signal=USR1@60).
  // Gloo and c10d's store write to connections whose other end may be a rank that has just died: an
  // error for them to tell, not the end of this rank before it has saved anything.
  std::signal(SIGPIPE, SIG_IGN);
  // The terminal has gone; under nohup that is no matter.
  if (std::signal(SIGHUP, request_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  raise_oom_score();
  printer.finish_first();
  return arguments.calibrate ? run_calibration(arguments, printer) : run_job(arguments, printer);
}

}  // namespace
}  // namespace headroom::trainer

int main(int argc, char** argv) {
  headroom::machine::Printer printer("headroom-train");  // First: it sees what is closed.
  return printer.finish(headroom::trainer::parse_and_run(argc, argv, printer));
}
