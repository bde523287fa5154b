// SPDX-License-Identifier: Apache-2.0
// `headroom fix ID --script`: the change as a POSIX shell script, to read and to run by hand. It
// keeps copies of what it touches, stops where a file is not what was read, and takes the same
// steps.
#pragma once

#include <string>

#include "plan/change.h"

namespace headroom::report {

//   sudo sh fix.sh             the steps
//   sudo sh fix.sh confirm     after the reboot, if it brought what was wanted: the steps of then
//   ROOT=/mnt sh fix.sh        of a machine whose file system is mounted there
// The unit that confirms by itself is left out: it goes by the journal, which a script has none of.
std::string to_script(const plan::Change& change);

}  // namespace headroom::report
