// SPDX-License-Identifier: Apache-2.0
// A replay as a page for a browser, in one file that needs no other and no network: for each policy
// how much it held, and where everything lay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/replay_picture.h"
#include "report/snapshot_report.h"

namespace headroom::report {

// Requires: pictures are not empty.
std::string to_html(const TraceFacts& trace, const std::optional<SnapshotFacts>& snapshot,
                    const std::vector<ReplayPicture>& pictures);

}  // namespace headroom::report
