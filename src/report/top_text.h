// SPDX-License-Identifier: Apache-2.0
// A machine at one moment as the screen of `headroom top`.
#pragma once

#include <string>

#include "live/moment.h"
#include "report/style.h"

namespace headroom::report {

// Lines of at most style.width characters. Of each GPU: how full and how busy, what a job can still
// take and by which limit, and who holds memory, largest first; then what check found. `rows`: how
// many lines fit on the screen, of which the lists of holders give up what does not; 0: all.
std::string top_text(const live::Moment& moment, const Style& style, std::size_t rows);

}  // namespace headroom::report
