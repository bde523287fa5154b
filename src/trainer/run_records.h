// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind beside its result: report.json and the trace.
#pragma once

#include <string>

#include "base/document_fwd.h"
#include "base/result.h"
#include "trainer/device_memory.h"

namespace headroom::trainer {

// Writes report.json into the folder `output`, and the end of the trace. What of the two cannot be
// written is one error.
Status write_records(const std::string& output, const Json& report, DeviceMemory& memory);

// `error` of write_records() as it is said of a run that was finished: it has nothing else to lose.
Error unrecorded(Error error, const std::string& output);

}  // namespace headroom::trainer
