// SPDX-License-Identifier: Apache-2.0
// headroom test: proves what this machine's devices do, and keeps what was proved for those that
// rely on it. What is proved so far is virtual memory.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "allocator/backends/self_test_cache_file.h"
#include "cli/commands.h"
#include "cli/earn_virtual_memory.h"
#include "cli/refuse_outputs.h"
#include "cli/surroundings.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "machine/terminal.h"
#include "probe/probe.h"

namespace headroom::cli {
namespace {

constexpr const char* command_line = "headroom test --virtual-memory";

struct Typed {
  bool virtual_memory = false;
  std::string self_test;
  std::string root = "/";
  unsigned timeout_s = 60;
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
  trial.timeout_ms = std::uint64_t{typed.timeout_s} * 1000;
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

int run_test(const Typed& typed, const Context& context) {
  context.printer.finish_first();  // The verdicts are what is wanted.
  if (typed.virtual_memory) return test_virtual_memory(typed, context);
  return print_error(context,
                     {Errc::invalid,
                      "test: expected what to test, found nothing; this version tests virtual "
                      "memory",
                      command_line},
                     exit_usage);
}

}  // namespace

void add_test(CLI::App& app, Context& context) {
  auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand(
      "test", "Test what this machine's GPUs can do, so that headroom's allocator can rely on it");
  command->add_flag(
      "--virtual-memory", typed->virtual_memory,
      "Test whether memory can be moved to other addresses without losing a byte, on every "
      "GPU and on host memory");
  command
      ->add_option("--self-test", typed->self_test,
                   "Save the verdicts in this file (default: headroom/virtual-memory.json in "
                   "$XDG_CACHE_HOME or ~/.cache)")
      ->type_name("FILE");
  command
      ->add_option("--timeout", typed->timeout_s,
                   "How long a device may take before it counts as hung (default: 60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  command
      ->add_option("--root", typed->root,
                   "A captured machine that says which GPUs there are; for tests")
      ->type_name("PATH");
  command->add_flag("--json", typed->json, "Print JSON (headroom.test/1)");
  command->footer(
      "Each device takes about two seconds and 130 MiB of its memory.\n\n"
      "Exit: 0 every step passed, 1 one failed, 2 wrong usage, 3 could not look, or could not save "
      "the verdict.\n\n"
      "Examples:\n"
      "  headroom test --virtual-memory    once per machine, before run --allocator");
  command->callback([typed, &context] { context.exit_code = run_test(*typed, context); });
}

}  // namespace headroom::cli
