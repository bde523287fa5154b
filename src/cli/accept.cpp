// SPDX-License-Identifier: Apache-2.0
// headroom accept: proves on this machine what headroom offers, part by part, each by its own
// command, and makes one record of it to attach to an issue.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/document.h"
#include "base/shell_quote.h"
#include "base/text.h"
#include "capture/write_recording.h"
#include "cli/commands.h"
#include "cli/injected_files.h"
#include "cli/machine_record.h"
#include "cli/record_output.h"
#include "cli/surroundings.h"
#include "findings/job_gpus.h"
#include "machine/clock.h"
#include "machine/open_root.h"
#include "machine/program.h"
#include "machine/terminal.h"
#include "machine/tree_writer.h"
#include "probe/probe.h"
#include "report/acceptance_report.h"
#include "report/check_json.h"

namespace headroom::cli {
namespace {

struct AcceptOptions {
  std::string output;
  std::string python;
  bool full = false;
  bool json = false;
};

// One part: a command of ours, and when its exit code says that it works.
struct Part {
  std::string name, meaning;
  std::vector<std::string> words;  // Behind "headroom".
  int worst_code = exit_ok;        // check may find something, which is an answer.
  std::string not_done = {};       // Why it is left out; empty: it is done.
  bool tells_steps = false;        // Its answer is the lines of headroom_steps, not JSON.
};

// Of a process that runs steps by itself the exit code does not say that a result was wrong.
bool steps_passed(std::string_view output) {
  return output.find("\"step\": \"training\"") != std::string_view::npos &&
         output.find("\"ok\": false") == std::string_view::npos;
}

class Acceptor {
 public:
  Acceptor(const AcceptOptions& options, const Context& context)
      : options_(options), context_(context) {}

  Result<report::Acceptance> run() {
    HEADROOM_TRY(program_, machine::program_path());
    HEADROOM_TRY(MachineRecord machine, record_machine("/", options_.python, context_));
    HEADROOM_CHECK(look(machine));
    HEADROOM_TRY(const auto writer, make_record_writer(options_.output));
    for (const Part& part : list_parts()) HEADROOM_CHECK(run_part(part, machine, *writer));
    if (machine::stderr_is_terminal()) context_.printer.rewrite_line("");
    HEADROOM_CHECK(writer->file("acceptance/summary.json", report::to_text(to_json(acceptance_))));
    const redact::Counts counts = machine.redactor.counts();
    HEADROOM_TRY(const capture::Written written,
                 capture::write_recording(machine.recording, counts, *writer));
    static_cast<void>(written);
    HEADROOM_CHECK(writer->finish());
    return std::move(acceptance_);
  }

 private:
  Status look(const MachineRecord& machine) {
    HEADROOM_TRY(const machine::OpenRoot root, machine::open_root("/"));
    auto surroundings = make_surroundings(context_, options_.python, true);
    surroundings.ask_kfd = false;  // This process would be one of the GPU's holders.
    HEADROOM_TRY(const facts::Facts facts, probe::probe(root.files, machine.tables, surroundings));
    for (const facts::Gpu* gpu : findings::job_gpus(facts)) {
      acceptance_.gpus.push_back(gpu->name + (gpu->gfx ? " (" + *gpu->gfx + ")" : ""));
    }
    acceptance_.output = options_.output;
    acceptance_.kernel = facts.machine.kernel.optional().value_or("");
    acceptance_.rocm = facts.machine.rocm.optional().value_or("");
    python_ = facts.python.interpreter.optional().value_or("");
    has_torch_ = !facts.python.torch_folder.empty();
    return Done{};
  }

  std::vector<std::string> with_python(std::vector<std::string> words) const {
    if (!python_.empty()) words.insert(words.end(), {"--python", python_});
    return words;
  }

  // What is left out of the parts that need both.
  std::string without_torch_on_gpu() const {
    if (acceptance_.gpus.empty()) return "this machine has no AMD GPU for jobs";
    if (!has_torch_) return "no Python with PyTorch was found: --python PATH";
    return "";
  }

  std::vector<Part> list_parts() const {
    std::vector<std::string> test = with_python({"test", "--json"});
    if (options_.full) test.insert(test.end(), {"--level", "full"});
    std::vector<Part> parts = {
        {"check", "what check says", with_python({"check", "--json"}), exit_findings},
        {"fixes", "what fix would do; nothing is changed", {"fix", "--json"}, exit_findings},
        {"virtual-memory",
         "memory moved to other addresses",
         {"test", "--virtual-memory", "--json"}},
        {"test", "your PyTorch on every GPU, or on the processor", test},
        {"allocator",
         "a training with headroom's allocator",
         {},
         exit_ok,
         without_torch_on_gpu(),
         true}};
    if (!has_torch_) parts[3].not_done = "no Python with PyTorch was found: --python PATH";
    const auto steps = find_steps_program();
    if (!steps) {
      parts.back().not_done = steps.error().message;
    } else {
      parts.back().words = {
          "run",   "--allocator", "--hang",          "300", "--", python_, *steps, "run",
          "torch", "cuda:0",      "network,training"};
    }
    return parts;
  }

  Status run_part(const Part& part, MachineRecord& machine, machine::TreeWriter& writer) {
    report::AcceptanceStep step;
    step.name = part.name;
    step.meaning = part.meaning;
    step.detail = part.not_done;
    if (part.not_done.empty()) {
      if (machine::stderr_is_terminal()) context_.printer.rewrite_line(part.name + " …");
      std::vector<std::string> words = {program_};
      words.insert(words.end(), part.words.begin(), part.words.end());
      const std::uint64_t began = machine::monotonic_ns();
      HEADROOM_TRY(const machine::ProgramAnswer answer, machine::ask_program(words));
      step.seconds = static_cast<double>(machine::monotonic_ns() - began) / 1e9;
      step.code = answer.status;
      step.ok =
          answer.status <= part.worst_code && (!part.tells_steps || steps_passed(answer.output));
      words.front() = "headroom";
      step.command = machine.redactor.report(shell_line(words));
      step.file = "acceptance/" + part.name + (part.tells_steps ? ".txt" : ".json");
      HEADROOM_CHECK(writer.file(step.file, machine.redactor.report(answer.output)));
      if (!*step.ok)
        step.detail = fmt::format("it ended with code {}; see {}", answer.status, step.file);
    }
    acceptance_.steps.push_back(std::move(step));
    return Done{};
  }

  const AcceptOptions& options_;
  const Context& context_;
  std::string program_, python_;
  bool has_torch_ = false;
  report::Acceptance acceptance_;
};

int run_accept(const AcceptOptions& options, const Context& context) {
  context.printer.finish_first();  // The record is what is wanted.
  if (const auto good = check_record_name(options.output, "accept"); !good) {
    return print_error(context, good.error(), exit_usage);
  }
  const auto acceptance = Acceptor(options, context).run();
  if (!acceptance) {
    Error error = acceptance.error();
    if (error.next.empty()) error.next = "headroom accept --help";
    return print_error(context, error, exit_could_not_look);
  }
  if (options.json) {
    context.printer.print_json_text(report::to_text(report::to_json(*acceptance)));
  } else {
    const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
    context.printer.print(report::fit(report::to_text(*acceptance, style), style.width));
  }
  return report::has_failure(*acceptance) ? exit_findings : exit_ok;
}

}  // namespace

void add_accept(CLI::App& app, Context& context) {
  auto options = std::make_shared<AcceptOptions>();
  CLI::App* command = app.add_subcommand(
      "accept", "Prove on this machine what headroom offers, and record it for the project");
  command
      ->add_option("OUT", options->output,
                   "A new folder, or a new archive if the name ends in .tar.zst")
      ->type_name("OUT")
      ->required();
  command
      ->add_option("--python", options->python,
                   "The Python to test with: an interpreter or a virtual environment (default: the "
                   "one that headroom check finds)")
      ->type_name("PATH");
  command->add_flag("--full", options->full, "Train ten times as long, as headroom test does");
  command->add_flag("--json", options->json, "Print JSON (headroom.accept/1)");
  command->footer(
      "It runs check, fix without --apply, test, and a training with headroom's allocator: some "
      "minutes, in which the GPUs should have nothing else to do. It changes nothing but the "
      "verdicts of test --virtual-memory. What headroom cannot do on your card is as welcome as "
      "what it can.\n\n"
      "Exit: 0 all that was done works, 1 something does not, 2 wrong usage, 3 could not look or "
      "write.\n\n"
      "Examples:\n"
      "  headroom accept my-card.tar.zst --python ~/venv");
  command->callback([options, &context] { context.exit_code = run_accept(*options, context); });
}

}  // namespace headroom::cli
