// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_records.h"

#include <fmt/format.h>

#include "base/document.h"
#include "base/json_text.h"
#include "machine/user_files.h"

namespace headroom::trainer {

Status write_records(const std::string& output, const Json& report, DeviceMemory& memory) {
  Status written =
      machine::write_file_atomic(output + "/report.json", to_json_text(report, 2) + "\n");
  const Status traced = memory.finish_trace();
  if (traced) return written;
  if (written) return traced;
  Error both = written.error();
  both.message += "; " + traced.error().message;
  return both;
}

Error unrecorded(Error error, const std::string& output) {
  error.message += fmt::format("; the run is finished, and its result is in {}", output);
  if (error.next.empty()) error.next = "free space there before the next run";
  return error;
}

}  // namespace headroom::trainer
