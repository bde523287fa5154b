// SPDX-License-Identifier: Apache-2.0
#include "cli/check_health.h"

#include <fmt/format.h>

#include "cli/surroundings.h"
#include "findings/diagnosis.h"
#include "findings/health.h"
#include "knowledge/gpu_tables.h"
#include "machine/open_root.h"
#include "probe/probe.h"
#include "report/machine_summary.h"
#include "report/style.h"

namespace headroom::cli {
namespace {

struct Line {
  findings::Verdict verdict = findings::Verdict::unknown;
  std::string summary;
};

Result<Line> look(const std::string& root, const std::string& python, const Context& context) {
  HEADROOM_TRY(const knowledge::GpuTables tables, knowledge::load_gpu_tables());
  HEADROOM_TRY(const auto opened, machine::open_root(root));
  HEADROOM_TRY(const facts::Facts facts,
               probe::probe(opened.files, tables,
                            make_surroundings(context, python, opened.files.is_real())));
  const findings::Diagnosis diagnosis = findings::diagnose({facts, tables});
  return Line{diagnosis.verdict, report::machine_summary(facts, diagnosis)};
}

}  // namespace

int answer_health(const std::string& root, const std::string& python, const Context& context) {
  const auto looked = look(root, python, context);
  const Line line = looked ? *looked : Line{findings::Verdict::unknown, looked.error().message};
  context.printer.print(
      fmt::format("{}: {}\n", to_string(line.verdict), report::printable(line.summary)));
  return static_cast<int>(findings::health_of(line.verdict));
}

}  // namespace headroom::cli
