// SPDX-License-Identifier: Apache-2.0
// Calibrations on disk: calibration.json in headroom's state folder. A file that was tampered with
// can make a prediction wrong and nothing else, so one that this user has not written is not read.
#pragma once

#include <string>

#include "base/result.h"
#include "estimate/calibration.h"

namespace headroom::history {

// Returns none if there is no file. Fails, naming the path, where it cannot be read, belongs to
// another user or may be written by others, makes no sense, or is a newer version's.
Result<estimate::Calibrations> read_calibrations(const std::string& path);

// In the place of the one with its key, atomically. A file that makes no sense is replaced; one of
// a newer version or of another user stays, and this fails. If two processes do this at once, the
// later one wins.
Status keep_calibration(const std::string& path, estimate::Calibration calibration);

// Whether keep_calibration() could do that, as far as it can be known beforehand. Makes the
// folders.
Status can_keep_calibrations(const std::string& path);

}  // namespace headroom::history
