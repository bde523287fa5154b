// SPDX-License-Identifier: Apache-2.0
// Whose machine it is: the names to take out of a capture. Read beside the record, so that these
// files do not get into it.
#pragma once

#include "machine/files.h"
#include "machine/recording.h"
#include "redact/redactor.h"

namespace headroom::capture {

// Host names from /proc/sys/kernel/hostname, /etc/hostname and HOSTNAME; people from /etc/passwd
// (user ids from 1000 on) and the members of groups, home folders, and the variables that name a
// user in our own environment. What cannot be read adds nothing. `files` must not be the one that
// records.
redact::Identity read_identity(const machine::Files& files, const machine::Recording& recording);

}  // namespace headroom::capture
