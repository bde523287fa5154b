// SPDX-License-Identifier: Apache-2.0
// report.html: the page of a run, made at its end from report.json's values and the lines of
// metrics.jsonl.
#pragma once

#include "trainer/observer.h"
#include "trainer/run_output.h"
#include "trainer/training.h"

namespace headroom::trainer {

// Writes it beside report.json, as a whole or not at all. It is something to look at: what cannot
// be read or written is a note to `observer`, and the run is none the worse.
void write_page(const TrainRequest& request, const TrainOutcome& outcome, const RunOutput& output,
                Observer& observer);

// How long the page is at most, but for the text of an error.
inline constexpr std::uint64_t page_bytes = std::uint64_t{512} << 10U;

}  // namespace headroom::trainer
