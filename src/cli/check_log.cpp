// SPDX-License-Identifier: Apache-2.0
#include "cli/check_log.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "findings/log_diagnosis.h"
#include "logs/log_reader.h"
#include "machine/input_stream.h"
#include "machine/terminal.h"
#include "machine/user_files.h"
#include "report/check_json.h"
#include "report/log_report.h"

namespace headroom::cli {
namespace {

using machine::InputStream;

Result<facts::Stated> read_stated(const std::string& path) {
  if (path.empty()) return facts::Stated{};
  HEADROOM_TRY(const std::string text, machine::read_file(path, std::size_t{1} << 20U));
  return facts::parse_stated(text, path);
}

Status read_log(const std::string& path, const logs::Matcher& matcher, std::uint64_t number,
                logs::Observations& observations, report::LogExtent& extent) {
  HEADROOM_TRY(InputStream stream, InputStream::open(path));
  logs::LogReader reader(matcher, observations, number);
  std::vector<char> buffer(std::size_t{256} << 10U);
  for (;;) {
    HEADROOM_TRY(const auto piece, stream.read(buffer, std::chrono::milliseconds(500)));
    if (piece.state == InputStream::State::end) break;
    reader.feed({buffer.data(), piece.size});
  }
  reader.finish();
  extent.names.push_back(path == "-" ? "standard input" : path);
  extent.lines += reader.lines();
  extent.bytes += reader.bytes();
  return Done{};
}

}  // namespace

int answer_log(const LogQuestion& question, const LookedAt* machine,
               const knowledge::GpuTables& tables) {
  const auto stated = read_stated(question.stated);
  if (!stated) return print_error(stated.error(), exit_usage);
  const auto signatures = knowledge::load_signatures();
  if (!signatures) return print_error(signatures.error(), exit_could_not_look);
  const auto matcher = logs::Matcher::make(*signatures);
  if (!matcher) return print_error(matcher.error(), exit_could_not_look);
  logs::Observations observations;
  report::LogExtent extent;
  for (const std::string& file : question.files) {
    const auto read = read_log(file, *matcher, extent.names.size(), observations, extent);
    if (!read) return print_error(read.error(), exit_could_not_look);
  }
  const findings::Scene scene = findings::make_scene(
      observations, *stated, machine == nullptr ? nullptr : &machine->facts, tables);
  auto diagnosis = findings::diagnose_logs({observations, scene, tables, extent.names});
  if (machine != nullptr) findings::join_machine(machine->diagnosis, diagnosis);
  if (!question.report.empty()) {
    const auto written = machine::write_file_atomic(
        question.report, report::to_postmortem(diagnosis, scene, extent));
    if (!written) return print_error(written.error(), exit_could_not_look);
  }
  if (question.json) {
    fmt::print("{}", report::to_text(machine == nullptr
                                         ? report::to_json(diagnosis, scene, extent)
                                         : report::to_json(machine->facts, machine->diagnosis,
                                                           diagnosis, extent)));
  } else {
    const report::Style style{machine::stdout_shows_colour()};
    fmt::print("{}", report::to_text(diagnosis, scene, extent, style));
  }
  return findings::exit_code(diagnosis);
}

}  // namespace headroom::cli
