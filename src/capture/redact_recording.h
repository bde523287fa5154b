// SPDX-License-Identifier: Apache-2.0
// The record of a machine without what is nobody's business.
#pragma once

#include "machine/recording.h"
#include "redact/redactor.h"

namespace headroom::capture {

// Paths, bytes, links, refusals and answers. Open files that are no GPU's are left out.
machine::Recording redact_recording(const machine::Recording& recording,
                                    redact::Redactor& redactor);

}  // namespace headroom::capture
