// SPDX-License-Identifier: Apache-2.0
// The two ends of what a command writes into in place of our own output: a pipe or a terminal.
#pragma once

#include "base/result.h"
#include "machine/descriptor.h"

namespace headroom::machine {

struct RelayEnds {
  Descriptor reading;  // Ours; reading from it does not wait.
  Descriptor writing;  // The command's.
  bool is_terminal = false;
};

// A pipe larger than the usual one, so that command and relay wait for each other less often.
Result<RelayEnds> make_pipe_ends();
// A pseudo-terminal that passes every byte as it is, as large as the terminal `like`.
Result<RelayEnds> make_terminal_ends(int like);

bool is_open_terminal(int fd);
// Whether both write to the same terminal, pipe, socket or opened file.
bool is_same_stream(int one, int other);
// Gives `reading` of a pseudo-terminal the size of `like`; whether it was another one.
bool copy_terminal_size(int like, int reading);

}  // namespace headroom::machine
