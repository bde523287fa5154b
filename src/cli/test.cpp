// SPDX-License-Identifier: Apache-2.0
// headroom test: proves what this machine's devices do: with the user's own Python (test_steps.h),
// or the virtual memory that headroom's allocator relies on, whose verdicts are kept.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/backends/self_test_cache_file.h"
#include "cli/calibration.h"
#include "cli/commands.h"
#include "cli/earn_virtual_memory.h"
#include "cli/number_between.h"
#include "cli/refuse_outputs.h"
#include "cli/surroundings.h"
#include "cli/test_steps.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "machine/terminal.h"
#include "probe/probe.h"

namespace headroom::cli {
namespace {

constexpr double shortest_minutes = 0.1, longest_minutes = 1440;
constexpr const char* command_line = "headroom test --virtual-memory";

struct Typed {
  bool virtual_memory = false;
  bool multi = false;
  bool calibrate = false;
  std::string self_test;
  std::string root = "/";
  std::string level = "quick", steps, python;
  double minutes = 10;
  std::optional<unsigned> timeout_s;
  bool json = false;
};

Result<facts::Facts> look(const std::string& root_path, const Context& context) {
  HEADROOM_TRY(const auto tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(const machine::OpenRoot root, machine::open_root(root_path));
  return probe::probe(root.files, tables, make_surroundings(context, "", root.files.is_real()));
}

// A file that was named and holds something else would be lost.
Status check_named_file(const std::string& path) {
  const auto kept = allocator::read_self_test_cache(path);
  if (kept) return Done{};
  Error error = kept.error();
  error.message = fmt::format(
      "--self-test {}: expected a file that headroom test wrote, or none, "
      "found {}",
      path, error.message);
  error.next = fmt::format("{} --self-test another.json", command_line);
  return error;
}

std::optional<int> refuse_file(const Typed& typed, const Context& context) {
  if (typed.self_test.empty()) return std::nullopt;
  const machine::OutputFile file{"--self-test", typed.self_test};
  if (const auto refused = refuse_outputs({file}, machine::captured_machine(typed.root), context))
    return refused;
  if (const Status good = check_named_file(typed.self_test); !good)
    return print_error(context, good.error(), exit_usage);
  return std::nullopt;
}

Result<Trial> make_trial(const Typed& typed, const Context& context) {
  Trial trial;
  trial.path = typed.self_test;
  trial.timeout_ms = std::uint64_t{typed.timeout_s.value_or(60)} * 1000;
  if (typed.self_test.empty()) {
    trial.is_default = true;
    trial.path =
        allocator::self_test_path(probe::find_variable(context.environment, "XDG_CACHE_HOME"),
                                  probe::find_variable(context.environment, "HOME"));
    if (trial.path.empty())
      return Error{Errc::not_found,
                   "expected a folder for the verdicts, found neither HOME nor XDG_CACHE_HOME set",
                   fmt::format("{} --self-test FILE", command_line)};
  }
  if (machine::stderr_is_terminal())
    trial.on_begin = [&context](const std::string& what) {
      context.printer.rewrite_line("testing virtual memory on " + what + " …");
    };
  return trial;
}

// 1: a step failed. 3: something that is here could not be tested, or its verdict not kept.
int exit_code_of(const report::VirtualMemoryReport& report) {
  using Use = report::VirtualMemoryUse;
  const auto any_is = [&report](Use use) {
    return std::any_of(report.devices.begin(), report.devices.end(),
                       [use](const report::TestedDevice& device) { return device.use == use; });
  };
  if (any_is(Use::failed)) return exit_findings;
  const bool is_missed = std::any_of(report.absent.begin(), report.absent.end(),
                                     [](const auto& absent) { return absent.has_gpu; });
  if (is_missed || any_is(Use::untested) || any_is(Use::not_kept)) return exit_could_not_look;
  return exit_ok;
}

int test_virtual_memory(const Typed& typed, const Context& context) {
  if (const auto refused = refuse_file(typed, context)) return *refused;
  const auto trial = make_trial(typed, context);
  if (!trial) return print_error(context, trial.error(), exit_could_not_look);
  auto facts = look(typed.root, context);
  if (!facts) {
    Error error = std::move(facts).error();
    if (error.next.empty()) error.next = "headroom test --help";
    return print_error(context, error, exit_could_not_look);
  }
  const report::VirtualMemoryReport report = earn_virtual_memory(*facts, *trial);
  if (trial->on_begin) context.printer.rewrite_line("");
  if (typed.json) {
    context.printer.print_json(report::to_json(report));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::to_text(report, style));
  }
  return exit_code_of(report);
}

// What belongs to the other of the two tests.
std::optional<Error> refuse_mixture(const Typed& typed, const CLI::App& command) {
  const std::vector<const char*> others =
      typed.virtual_memory ? std::vector{"--level", "--minutes", "--multi", "--steps", "--python"}
                           : std::vector{"--self-test"};
  for (const char* other : others) {
    if (command.count(other) == 0) continue;
    return Error{
        Errc::invalid,
        typed.virtual_memory
            ? fmt::format("{} and --virtual-memory: expected one of them, found both", other)
            : fmt::format("{}: expected --virtual-memory with it, found none", other),
        "headroom test --help"};
  }
  return std::nullopt;
}

// A calibration is of this machine and headroom's own trainer, and takes as long as it takes.
std::optional<Error> refuse_beside_calibration(const CLI::App& command) {
  for (const char* other : {"--level", "--minutes", "--multi", "--steps", "--python",
                            "--virtual-memory", "--self-test", "--timeout", "--root"}) {
    if (command.count(other) > 0)
      return Error{Errc::invalid,
                   fmt::format("{} and --calibrate: expected one of them, found both", other),
                   "headroom test --calibrate"};
  }
  return std::nullopt;
}

// What has no meaning on its own, or beside what is asked for.
std::optional<Error> refuse_alone(const Typed& typed, const CLI::App& command) {
  for (const char* other : {"--level", "--minutes"}) {
    if (typed.multi && command.count(other) > 0)
      return Error{Errc::invalid,
                   fmt::format("{} and --multi: expected one of them, found both", other),
                   "headroom test --multi"};
  }
  if (command.count("--minutes") == 0 || typed.level == "soak") return std::nullopt;
  return Error{Errc::invalid, "--minutes: expected --level soak with it, found none",
               fmt::format("headroom test --level soak --minutes {:g}", typed.minutes)};
}

StepsQuestion make_question(const Typed& typed) {
  constexpr double s_per_minute = 60;
  StepsQuestion question;
  question.is_full = typed.level != "quick";
  if (typed.level == "soak")
    question.soak = std::chrono::seconds(std::lround(s_per_minute * typed.minutes));
  question.together = typed.multi;
  question.steps = typed.steps;
  question.python = typed.python;
  question.timeout_s = typed.timeout_s;
  question.root = typed.root;
  question.json = typed.json;
  return question;
}

int run_test(const Typed& typed, const CLI::App& command, const Context& context) {
  context.printer.finish_first();  // The verdicts are what is wanted.
  if (typed.calibrate) {
    if (const auto error = refuse_beside_calibration(command))
      return print_error(context, *error, exit_usage);
    return calibrate(typed.json, context);
  }
  if (const auto error = refuse_mixture(typed, command))
    return print_error(context, *error, exit_usage);
  if (typed.virtual_memory) return test_virtual_memory(typed, context);
  if (const auto error = refuse_alone(typed, command))
    return print_error(context, *error, exit_usage);
  return test_steps(make_question(typed), context);
}

// What is tested in place of the steps.
void add_other_tests(CLI::App& command, Typed& typed) {
  command.add_flag(
      "--multi", typed.multi,
      "Instead: what all GPUs do together in PyTorch: copies between each two, sums by NCCL or "
      "RCCL and by Gloo, DistributedDataParallel, FSDP and DataParallel");
  command.add_flag(
      "--virtual-memory", typed.virtual_memory,
      "Instead: test whether memory can be moved to other addresses without losing a byte, on "
      "every GPU and on host memory, so that headroom's allocator can rely on it");
  command.add_flag("--calibrate", typed.calibrate,
                   "Instead: measure for a minute how fast headroom's own trainer is on this "
                   "machine's processor, so that headroom plan can say how long a job takes");
}

}  // namespace

void add_test(CLI::App& app, Context& context) {
  auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand(
      "test", "Test that this machine's GPUs compute right, hold their memory and are fast enough");
  command
      ->add_option("--level", typed->level,
                   "quick (default); full, which trains ten times as long; or soak, which adds a "
                   "load of minutes while temperatures, clocks and error counters are read")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"quick", "full", "soak"}));
  command
      ->add_option("--minutes", typed->minutes,
                   "How long the load of --level soak lasts on each device (default: 10)")
      ->type_name("N")
      ->check(number_between(shortest_minutes, longest_minutes, "minutes"));
  command
      ->add_option("--steps", typed->steps,
                   "Only these steps, with commas between them, for instance to repeat one that "
                   "failed")
      ->type_name("STEP,...");
  command
      ->add_option("--python", typed->python,
                   "The Python to test with: an interpreter or a virtual environment (default: the "
                   "one that headroom check finds)")
      ->type_name("PATH");
  add_other_tests(*command, *typed);
  command
      ->add_option("--self-test", typed->self_test,
                   "Save the verdicts of --virtual-memory in this file (default: "
                   "headroom/virtual-memory.json in "
                   "$XDG_CACHE_HOME or ~/.cache)")
      ->type_name("FILE");
  command
      ->add_option(
          "--timeout", typed->timeout_s,
          "How long a step may take before it counts as hung (default: 2 to 10 minutes, by "
          "step; of virtual memory 60 for a device)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  command
      ->add_option(
          "--root", typed->root,
          "A captured machine that says which GPUs there are, and what their sensors show; for "
          "tests")
      ->type_name("PATH");
  command->add_flag("--json", typed->json, "Print JSON (headroom.test/1)");
  command->footer(
      "Runs PyTorch, JAX, TensorFlow and onnxruntime of your own Python, whichever it has, each "
      "step in a process that a fault or a hang may take "
      "with "
      "it. A GPU takes some minutes and nearly all memory that is free on it; --virtual-memory "
      "takes two seconds and 130 MiB of each.\n\n"
      "Exit: 0 every step passed, 1 one failed, 2 wrong usage, 3 could not look, or could not save "
      "the verdict.\n\n"
      "Examples:\n"
      "  headroom test --python ~/venv     whether this Python computes right on every GPU\n"
      "  headroom test --level soak        the same, and ten minutes of load on each GPU\n"
      "  headroom test --multi             whether several GPUs can work together\n"
      "  headroom test --virtual-memory    once per machine, before run --allocator\n"
      "  headroom test --calibrate         so that headroom plan says seconds, too");
  command->callback(
      [typed, command, &context] { context.exit_code = run_test(*typed, *command, context); });
}

}  // namespace headroom::cli
