// SPDX-License-Identifier: Apache-2.0
// A limit on the length of files (RLIMIT_FSIZE, `ulimit -f`) is a lack of room, not an end.
#pragma once

namespace headroom::machine {

// From here on what would make a file longer than the limit fails with EFBIG; the kernel would end
// the process by SIGXFSZ, in the middle of what it does. Programs that are started have the signal
// as this process was given it.
void outlive_file_limit();

}  // namespace headroom::machine
