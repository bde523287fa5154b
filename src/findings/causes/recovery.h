// SPDX-License-Identifier: Apache-2.0
// Finds which failures still stand at the end of a run. A program may report an error, go on
// without what it wanted, and finish its work: that error is made up for. A crash, a kernel's
// message or a failed test never is.
#pragma once

#include "findings/causes/cause_rule.h"

namespace headroom::findings {

// Whether a line shows a command that somebody typed; what follows is of another run.
bool is_command(const logs::Observation& one);

// Whether a line reports a failure, of its own or as a consequence, and is not known to be
// harmless.
bool is_failure(const logs::Observations& log, const logs::Observation& one);

// Whether only a general word such as "error" marks the line as a failure.
bool is_vague(const logs::Observation& failure);

// Whether the same run went on and did its work after it.
bool is_made_up_for(const logs::Observations& log, const logs::Observation& failure);
// Whether all failures that a hypothesis rests on are made up for. False if it rests on none.
bool is_made_up_for(const LogSubject& subject, const Hypothesis& hypothesis);

// The last failure that stands; nullptr if there is none.
const logs::Observation* standing_failure(const logs::Observations& log);

// Whether the program says that it began a job, and says nothing about its end.
bool is_at_work(const logs::Observations& log);

// The typed line of Python that had a number computed on the GPU, and got it; nullptr if there is
// none.
const logs::Observation* computed_on_gpu(const logs::Observations& log);

// Whether the log is of the Windows Subsystem for Linux, and the GPU was reached there: then the
// absence of /dev/kfd, of the kernel module and of what the SMI tools need is as it should be.
bool is_reached_in_wsl(const logs::Observations& log);

// Whether the job reached its end or a GPU's results were seen; a server's start alone is not
// enough.
bool did_its_work(const logs::Observations& log);

}  // namespace headroom::findings
