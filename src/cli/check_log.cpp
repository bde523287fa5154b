// SPDX-License-Identifier: Apache-2.0
#include "cli/check_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/shell_quote.h"
#include "base/text.h"
#include "cli/early_answer.h"
#include "cli/log_source.h"
#include "cli/refuse_outputs.h"
#include "estimate/explain.h"
#include "facts/find_gpu.h"
#include "findings/calibration.h"
#include "findings/log_diagnosis.h"
#include "findings/recent_changes.h"
#include "findings/whose_log.h"
#include "logs/log_reader.h"
#include "machine/clock.h"
#include "machine/input_stream.h"
#include "machine/interrupt.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/cause_text.h"
#include "report/changes_report.h"
#include "report/check_json.h"
#include "report/log_report.h"
#include "report/style.h"
#include "run/job_file.h"
#include "run/job_inputs.h"

namespace headroom::cli {
namespace {

using machine::InputStream;

Result<facts::Stated> read_stated(const std::string& path) {
  if (path.empty()) return facts::Stated{};
  HEADROOM_TRY(const std::string text, machine::read_file(path, std::size_t{1} << 20U));
  return facts::parse_stated(text, path);
}

// The job that wrote the log, as far as it matters here.
struct Job {
  estimate::JobDimensions dimensions;
  machine::InputFiles files;
};

Result<std::optional<Job>> read_job(const std::string& path) {
  if (path.empty()) return std::optional<Job>();
  HEADROOM_TRY(const run::LoadedJob loaded, run::load_job(path));
  return std::optional(
      Job{estimate::dimensions_of(loaded.job, loaded.model), run::inputs_of(path, {}, loaded)});
}

std::optional<int> refuse_report(const LogQuestion& question, const std::optional<Job>& job,
                                 const Context& context) {
  machine::InputFiles inputs{question.files, {}};
  std::replace(inputs.files.begin(), inputs.files.end(), std::string("-"),
               std::string("/dev/stdin"));
  inputs.files.push_back(question.stated);
  inputs.add(machine::captured_machine(question.root));
  if (job) inputs.add(job->files);
  return refuse_outputs({{"--report", question.report}}, inputs, context);
}

std::chrono::milliseconds now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::nanoseconds(machine::monotonic_ns()));
}

// What is read, and what it means so far.
struct Reading {
  const logs::Matcher& matcher;
  const facts::Stated& stated;
  const LookedAt* machine;
  const knowledge::GpuTables& tables;
  const estimate::JobDimensions* job;
  logs::Observations observations;
  report::LogExtent extent;

  findings::Scene scene() const {
    return findings::make_scene(observations, stated,
                                machine == nullptr ? nullptr : &machine->facts, tables);
  }
  findings::LogDiagnosis diagnose(const findings::Scene& seen) const {
    return findings::diagnose_logs({observations, seen, tables, extent.names, job});
  }
  EarlyAnswer::Look look() const {
    const auto diagnosis = diagnose(scene());
    EarlyAnswer::Look result{diagnosis.cause.id, diagnosis.cause.confidence, 0};
    for (const knowledge::Signature& signature : matcher.table().rows) {
      const bool fails = signature.role == knowledge::Role::failure ||
                         signature.role == knowledge::Role::consequence;
      if (fails) result.failures += observations.count_of(signature.id);
    }
    return result;
  }
};

// To its end, or if it is followed until its answer is clear or ^C is pressed. True: to its end.
Result<bool> read_log(InputStream& stream, const std::string& name, bool follow, Reading& reading) {
  reading.extent.names.push_back(name);
  logs::LogReader reader(reading.matcher, reading.observations, reading.extent.names.size() - 1,
                         name);
  std::vector<char> buffer(std::size_t{256} << 10U);
  std::optional<machine::Interrupt> interrupt;
  if (follow) interrupt.emplace();
  EarlyAnswer early(now());
  bool is_over = false, is_clear = false;
  while (!is_over && !is_clear && !(interrupt && interrupt->came())) {
    HEADROOM_TRY(const auto piece, stream.read(buffer, early.patience(now())));
    is_over = piece.state == InputStream::State::end;
    reader.feed({buffer.data(), piece.size});
    if (!follow || is_over) continue;
    if (piece.size > 0) early.add_data(now(), piece.size);
    if (!early.is_time_to_look(now())) continue;
    reader.flush();
    is_clear = early.is_clear(now(), reading.look());
  }
  reader.finish();
  reading.extent.lines += reader.lines();
  reading.extent.bytes += reader.bytes();
  return is_over;
}

// Says on stderr what goes on, where somebody is there to read it.
void say(const Context& context, const std::string& text) {
  if (machine::stderr_is_terminal()) context.printer.note(text);
}

Error with_next(Error error) {
  error.next = "headroom check --log FILE, or - for standard input";
  return error;
}

Status read_files(const LogQuestion& question, Reading& reading, const Context& context) {
  for (std::size_t i = 0; i < question.files.size(); ++i) {
    const std::string& file = question.files[i];
    auto opened = InputStream::open(file);
    if (!opened) return with_next(opened.error());
    InputStream stream = *std::move(opened);
    const bool is_last = i + 1 == question.files.size() && question.watch.empty();
    const bool follow = is_last && stream.is_live();
    if (follow) say(context, "reading standard input; ^C stops and shows what is known so far");
    const auto is_over = read_log(stream, file == "-" ? "standard input" : file, follow, reading);
    if (!is_over) return with_next(is_over.error());
  }
  return Done{};
}

Status watch(const std::string& name, Reading& reading, const Context& context) {
  HEADROOM_TRY(const LogSource source, find_log_source(name));
  HEADROOM_TRY(InputStream stream, InputStream::from_program(source.argv));
  say(context,
      fmt::format("watching {} until a cause is clear; ^C stops and shows what is known so far",
                  source.name));
  HEADROOM_TRY(const bool is_over, read_log(stream, source.name, true, reading));
  const int status = is_over ? stream.wait_for_exit() : 0;
  const bool was_ended = status > 128;  // By a signal, as ^C is one.
  const auto& seen = reading.observations.all();
  const bool told = std::any_of(seen.begin(), seen.end(), [](const logs::Observation& one) {
    return one.signature->role != knowledge::Role::fact;
  });
  if (status == 0 || was_ended || told) return Done{};
  const std::string command = join(source.argv, " ");
  return Error{
      Errc::io,
      fmt::format("expected {} to keep running, but it ended with status {}", command, status),
      command};
}

// What changed on the machine before the first failure that the logs date.
findings::RecentChanges changes_before(const Reading& reading) {
  if (reading.machine == nullptr) return {};
  const facts::MachineHistory& history = reading.machine->history;
  return findings::find_recent_changes(
      history, reading.machine->packages,
      findings::first_failure_moment(reading.observations, history.now));
}

// What was found, to be printed.
struct Answer {
  const findings::Scene& scene;
  const findings::LogDiagnosis& diagnosis;
  const findings::RecentChanges& changes;
};

// The command that looks at the logs again together with the machine that wrote them.
std::string with_machine(const LogQuestion& question) {
  std::string command = "headroom check";
  const auto add = [&command](std::string_view option, const std::string& file) {
    if (!file.empty()) command += fmt::format(" {} {}", option, printable(shell_quote(file)));
  };
  for (const std::string& file : question.files) add("--log", file == "-" ? "FILE" : file);
  if (!question.watch.empty()) add("--log", "FILE");
  add("--stated", question.stated);
  add("--job", question.job);
  return command + " --here";
}

std::string next_text(const LogQuestion& question, const Reading& reading,
                      const findings::LogDiagnosis& diagnosis, const report::Style& style) {
  using findings::Verdict;
  if (diagnosis.verdict == Verdict::ok || diagnosis.verdict == Verdict::no_gpu) return "";
  if (reading.machine == nullptr) {
    return "\n" + report::next_line(with_machine(question),
                                    "(on the machine that wrote it: looks at both)", style);
  }
  const LookedAt& machine = *reading.machine;
  const auto* mending = report::mending_command(machine.diagnosis, diagnosis.cause.id);
  const findings::NextCommand next =
      mending != nullptr ? *mending : findings::next_of_cause(diagnosis.cause.id);
  if (!next.text().empty()) {
    const bool in_container = machine.facts.machine.in_container();
    return "\n" + report::mending_line(next, in_container, style, question.root);
  }
  return "\n" + report::next_line(report::for_root("headroom check", question.root),
                                  "(when you are done)", style);
}

void print_answer(const LogQuestion& question, const Reading& reading, const Answer& answer,
                  const Context& context) {
  const auto& [scene, diagnosis, changes] = answer;
  const report::LogExtent& extent = reading.extent;
  const LookedAt* machine = reading.machine;
  if (question.json) {
    auto document = machine == nullptr
                        ? report::to_json(diagnosis, scene, extent)
                        : report::to_json(machine->facts, machine->diagnosis, diagnosis, extent);
    if (changes.looked()) document["changes"] = report::changes_json(changes);
    context.printer.print_json_text(report::to_text(document));
    return;
  }
  const report::Style style{machine::stdout_shows_colour(), machine::stdout_width()};
  context.printer.print(question.quiet
                            ? report::verdict_text(diagnosis, style)
                            : report::to_text(diagnosis, scene, extent, style) +
                                  report::fit(report::changes_text(changes, style) +
                                                  next_text(question, reading, diagnosis, style),
                                              style.width));
}

void say_empty(findings::LogDiagnosis& diagnosis) {
  diagnosis.cause.title = "The log is empty";
  diagnosis.cause.reasons = {"What the job wrote went elsewhere, or it wrote nothing."};
}

}  // namespace

int answer_log(const LogQuestion& question, const LookedAt* machine,
               const knowledge::GpuTables& tables, const Context& context) {
  const auto stated = read_stated(question.stated);
  if (!stated) return print_error(context, stated.error(), exit_usage);
  const auto job = read_job(question.job);
  if (!job) return print_error(context, job.error(), exit_usage);
  if (const auto refused = refuse_report(question, *job, context)) return *refused;
  if (!question.report.empty()) context.printer.finish_first();
  const auto signatures = knowledge::load_signatures();
  if (!signatures) return print_error(context, signatures.error(), exit_could_not_look);
  const auto matcher = logs::Matcher::make(*signatures);
  if (!matcher) return print_error(context, matcher.error(), exit_could_not_look);
  Reading reading{*matcher, *stated, machine, tables, *job ? &(**job).dimensions : nullptr, {}, {}};
  const auto read = read_files(question, reading, context);
  if (!read) return print_error(context, read.error(), exit_could_not_look);
  if (!question.watch.empty()) {
    const auto watched = watch(question.watch, reading, context);
    if (!watched) return print_error(context, watched.error(), exit_could_not_look);
  }
  const report::LogExtent& extent = reading.extent;
  // A log of another machine is answered without this one.
  facts::Text elsewhere;
  if (machine != nullptr) {
    elsewhere = findings::printed_elsewhere(reading.observations, machine->facts, tables);
  }
  if (elsewhere) reading.machine = nullptr;
  const findings::Scene scene = reading.scene();
  auto diagnosis = reading.diagnose(scene);
  const findings::RecentChanges changes = changes_before(reading);
  if (reading.machine != nullptr) {
    const LookedAt& looked = *reading.machine;
    findings::join_machine(looked.diagnosis, diagnosis,
                           facts::pci_of_index(looked.facts, diagnosis.gpu));
  }
  findings::calibrate(diagnosis);
  if (extent.bytes == 0 && diagnosis.cause.id == "insufficient-evidence") say_empty(diagnosis);
  if (elsewhere) findings::say_elsewhere(elsewhere, diagnosis);
  if (reading.machine != nullptr) {
    findings::add_last_change(changes, reading.machine->packages, diagnosis);
  }
  if (!question.report.empty()) {
    const auto written = machine::write_output({"--report", question.report},
                                               report::to_postmortem(diagnosis, scene, extent));
    if (!written) return print_error(context, written.error(), exit_could_not_look);
  }
  print_answer(question, reading, {scene, diagnosis, changes}, context);
  return findings::exit_code(diagnosis);
}

}  // namespace headroom::cli
