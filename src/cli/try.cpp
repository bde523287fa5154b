// SPDX-License-Identifier: Apache-2.0
// headroom try: the same small training on every stack that somebody could choose, ranked.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/injected_files.h"
#include "cli/proof_ground.h"
#include "cli/trial_plan.h"
#include "machine/process_handle.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "probe/read_shell.h"
#include "proof/step_kinds.h"
#include "report/trial_report.h"
#include "run/command/environment.h"
#include "run/proof/container.h"
#include "run/proof/try_stacks.h"

namespace headroom::cli {
namespace {

constexpr unsigned usual_steps = 10;
constexpr const char* usual_command = "headroom try JOB.toml --python /path/to/venv";

struct Typed {
  std::string job;
  std::vector<std::string> pythons, images;
  unsigned steps = usual_steps;
  std::optional<unsigned> timeout_s;
  bool json = false;
};

// One of --python or --image, with the ground that its failures are judged by.
struct Place {
  std::string python, image;
  std::unique_ptr<ProofGround> ground;
};

// A script that starts a Python is one, too, although its folders do not tell.
bool is_program(const std::string& path) {
  const auto kind = machine::kind_of(path);
  return kind && *kind == EntryKind::file;
}

// What is wrong with the machine's usual Python says nothing of another.
void forget_python(ProofGround& ground) {
  ground.facts.python = {};
  ground.diagnosis = findings::diagnose({ground.facts, ground.tables});
}

Result<std::vector<Place>> read_places(const Typed& typed, const Context& context) {
  std::vector<Place> places;
  std::vector<std::string> pythons = typed.pythons;
  if (pythons.empty() && typed.images.empty()) pythons.emplace_back();  // The one that is found.
  for (const std::string& python : pythons) {
    Place place{python, {}, std::make_unique<ProofGround>()};
    HEADROOM_CHECK(read_ground(python, "/", context, *place.ground));
    if (const auto& found = place.ground->facts.python.interpreter) {
      place.python = *found;
    } else if (python.empty()) {
      return Error{Errc::not_found, "expected a Python to try, found none", usual_command};
    } else if (is_program(python)) {
      place.python = python.find('/') == std::string::npos ? "./" + python : python;
      forget_python(*place.ground);
    } else {
      return no_python(python, usual_command);
    }
    places.push_back(std::move(place));
  }
  for (const std::string& image : typed.images) {
    if (image.empty() || image.starts_with('-'))
      return Error{Errc::invalid, fmt::format("--image: expected an image, found \"{}\"", image),
                   "podman images"};
    Place place{{}, image, std::make_unique<ProofGround>()};
    HEADROOM_CHECK(read_ground("", "/", context, *place.ground));
    forget_python(*place.ground);
    places.push_back(std::move(place));
  }
  return places;
}

// The one that needs no root first.
Result<std::string> find_engine(const Context& context) {
  const std::string path = probe::find_variable(context.environment, "PATH");
  for (const char* name : {"podman", "docker"}) {
    for (const std::string_view folder : split(path, ':')) {
      const std::string program = fmt::format("{}/{}", folder, name);
      if (!folder.empty() && machine::kind_of(program)) return program;
    }
  }
  return Error{Errc::not_found, "--image: expected podman or docker on PATH, found neither",
               "sudo apt install podman, or --python instead of --image"};
}

std::vector<std::string> device_nodes() {
  std::vector<std::string> nodes;
  for (const char* node : {"/dev/kfd", "/dev/dri"}) {
    if (machine::kind_of(node)) nodes.emplace_back(node);
  }
  return nodes;
}

class Trials {
 public:
  Trials(const Typed& typed, const TrialPlan& plan, const Context& context)
      : typed_(typed), plan_(plan), context_(context) {}

  Status prepare(const std::vector<Place>& places) {
    HEADROOM_TRY(program_, find_steps_program());
    const bool any_image = std::any_of(places.begin(), places.end(),
                                       [](const Place& place) { return !place.image.empty(); });
    if (any_image) {
      HEADROOM_TRY(engine_, find_engine(context_));
    }
    return Done{};
  }

  proof::TrialReport run(const std::vector<Place>& places) {
    proof::TrialReport report{plan_.job, typed_.steps, {}, {}};
    for (const Place& place : places) {
      for (proof::StackResult& row : try_one(place)) report.stacks.push_back(std::move(row));
    }
    compare_losses(report);
    rank(report);
    return report;
  }

 private:
  std::vector<proof::StackResult> try_one(const Place& place) {
    ProofGround& ground = *place.ground;
    run::StepHost host{.python = place.python,
                       .command = {place.python, "-B", program_},
                       .environment = run::to_variables(context_.environment),
                       .steps = {},
                       .training_steps = typed_.steps,
                       .limit = {},
                       .facts = ground.facts,
                       .diagnosis = ground.diagnosis,
                       .tables = ground.tables,
                       .rules = ground.rules,
                       .kernel = ground.kernel ? &*ground.kernel : nullptr,
                       .on_step = {}};
    if (typed_.timeout_s) host.limit = std::chrono::seconds(*typed_.timeout_s);
    // A process that tells progress without end is no trial: its steps have this long in all.
    const auto& last = *proof::find_step(proof::training_step);
    host.whole = 4 * host.limit.value_or(last.limit);
    if (!place.image.empty())
      run_in_container({engine_, place.image,
                        fmt::format("headroom-try-{}-{}", machine::own_pid(), ++containers_),
                        program_, device_nodes()},
                       host);
    if (machine::stderr_is_terminal()) {
      const std::string name = place.image.empty() ? place.python : place.image;
      host.on_step = [this, name](const std::string& framework, const std::string& step) {
        context_.printer.rewrite_line(
            fmt::format("{}: {} {} …", name, framework.empty() ? "looking" : framework, step));
      };
    }
    auto rows = try_stacks(
        host, {plan_.job, plan_.allocated_bytes, plan_.not_planned, place.python, place.image});
    if (host.on_step) context_.printer.rewrite_line("");
    return rows;
  }

  const Typed& typed_;
  const TrialPlan& plan_;
  const Context& context_;
  std::string program_, engine_;
  unsigned containers_ = 0;
};

int run_try(const Typed& typed, const Context& context) {
  context.printer.finish_first();  // The rows are what is wanted.
  const auto refuse = [&context](Error error) {
    if (error.next.empty()) error.next = "headroom try --help";
    const bool is_typed = error.code == Errc::invalid || error.code == Errc::unsupported;
    return print_error(context, error, is_typed ? exit_usage : exit_could_not_look);
  };
  const auto plan = plan_trial(typed.job, context);
  if (!plan) {
    Error error = plan.error();
    if (error.next.empty()) error.next = "headroom plan " + typed.job;
    return print_error(context, error, exit_usage);
  }
  const auto places = read_places(typed, context);
  if (!places) return refuse(places.error());
  Trials trials(typed, *plan, context);
  if (const Status ready = trials.prepare(*places); !ready) return refuse(ready.error());
  const proof::TrialReport report = trials.run(*places);
  if (typed.json) {
    context.printer.print_json_text(report::to_json_text(report));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(report, style));
  }
  return report.any_ok() ? exit_ok : exit_findings;
}

}  // namespace

void add_try(CLI::App& app, Context& context) {
  auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand(
      "try", "Run the same small training on several Pythons or images, and rank them");
  command->add_option("JOB", typed->job, "The job: a TOML or JSON file, as for headroom plan")
      ->type_name("JOB")
      ->required();
  command
      ->add_option("--python", typed->pythons,
                   "A Python to try: an interpreter or a virtual environment; may be repeated "
                   "(default: the one that headroom check finds)")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command
      ->add_option("--image", typed->images,
                   "An image of podman or docker that is on this machine; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->add_option("--steps", typed->steps, "How many steps each trains (default: 10)")
      ->type_name("N")
      ->check(CLI::Range(2, 100000));
  command
      ->add_option("--timeout", typed->timeout_s,
                   "How long each may take for a step of the trial before it has failed (default: "
                   "2 to 10 minutes)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400));
  command->add_flag("--json", typed->json, "Print JSON (headroom.try/1)");
  command->footer(
      "PyTorch, JAX and TensorFlow are tried, whichever a Python has: whether it has code for the "
      "GPU, whether it computes right, how much memory the job takes and how fast it is. What "
      "fails, crashes or hangs is a row with its cause. Nothing is downloaded.\n\n"
      "Exit: 0 one finished, 1 none did, 2 wrong usage or a mistake in the job, 3 could not "
      "look.\n\n"
      "Examples:\n"
      "  headroom try job.toml --python ~/venv-rocm6 --python ~/venv-rocm7   which is faster\n"
      "  headroom try job.toml --image rocm/pytorch                          one in a container");
  command->callback([typed, &context] { context.exit_code = run_try(*typed, context); });
}

}  // namespace headroom::cli
