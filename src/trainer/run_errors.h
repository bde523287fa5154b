// SPDX-License-Identifier: Apache-2.0
// What a run says when it ends early: where things stand, and the way on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "trainer/output_folder.h"

namespace headroom::trainer {

struct EndedAt {
  std::string output;
  std::uint64_t steps = 0;                // Done.
  std::optional<std::uint64_t> saved_at;  // Steps in the checkpoint.
  Status rescued = Done{};                // Whether the state after the last step could be saved.
  OutputSize size;                        // Of all that the run writes.
};

// `error` ended the run. Where the disk was full, says what is whole and how much to free.
Error explain_end(Error error, const EndedAt& end);

// "the loss of step 7 is not a finite number". Found before the optimizer has spread it: what
// trains is still as it was after the last step.
Error not_finite(const char* what, std::uint64_t step);

}  // namespace headroom::trainer
