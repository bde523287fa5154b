// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_record.h"

#include <utility>

#include "base/document.h"
#include "capture/identity.h"
#include "capture/redact_recording.h"
#include "cli/machine_changes.h"
#include "cli/surroundings.h"
#include "findings/diagnosis.h"
#include "findings/recent_changes.h"
#include "machine/open_root.h"
#include "probe/probe.h"
#include "report/changes_report.h"
#include "report/check_json.h"

namespace headroom::cli {

Result<std::string> check_as_text(const machine::Files& files, const knowledge::GpuTables& tables,
                                  const probe::Surroundings& surroundings) {
  HEADROOM_TRY(facts::Facts facts, probe::probe(files, tables, surroundings));
  HEADROOM_TRY(const auto packages, knowledge::load_package_table());
  const auto history = read_history(files, packages, facts);
  facts.machine.live = false;
  auto document = report::to_json(facts, findings::diagnose({facts, tables}));
  document["changes"] = report::changes_json(findings::find_recent_changes(history, packages));
  return report::to_text(document);
}

Result<MachineRecord> record_machine(const std::string& root_path, const std::string& python,
                                     const Context& context) {
  HEADROOM_TRY(auto tables, knowledge::load_gpu_tables());
  machine::Recording recording;
  HEADROOM_TRY(const machine::OpenRoot root, machine::open_root(root_path, &recording));
  const bool is_live = root.files.is_real();
  const auto surroundings = make_surroundings(context, python, is_live);
  HEADROOM_TRY(std::string answer, check_as_text(root.files, tables, surroundings));
  // Asked without a record: what tells whose machine it is does not belong into one.
  HEADROOM_TRY(const machine::OpenRoot beside, machine::open_root(root_path));
  redact::Redactor redactor(capture::read_identity(beside.files, recording));
  machine::Recording clean = capture::redact_recording(recording, redactor);
  std::string shown = redactor.text(surroundings.python);
  return MachineRecord{std::move(tables), std::move(clean),  std::move(redactor),
                       std::move(shown),  std::move(answer), is_live};
}

}  // namespace headroom::cli
