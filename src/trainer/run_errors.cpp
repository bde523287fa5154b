// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_errors.h"

#include <fmt/format.h>

#include "trainer/checkpoint.h"

namespace headroom::trainer {

Error explain_end(Error error, const EndedAt& end) {
  const Status& rescued = end.rescued;
  if (!rescued && rescued.error().message != error.message)
    error.message += fmt::format("; the state after step {} could not be saved: {}", end.steps,
                                 rescued.error().message);
  const bool disk =
      error.code == Errc::no_space || (!rescued && rescued.error().code == Errc::no_space);
  if (!disk) return error;
  error.message += end.saved_at ? fmt::format("; the state after step {} is whole, in {}",
                                              *end.saved_at, checkpoint_path(end.output))
                                : "; no checkpoint was saved before that";
  error.next = fmt::format(
      "free up to {} on the file system of {}, then {}",
      to_string(room_needed(end.output, end.size)), end.output,
      end.saved_at ? "go on with --resume" : "start again; or choose another folder with --output");
  return error;
}

Error not_finite(const char* what, std::uint64_t step) {
  return {Errc::invalid, fmt::format("{} step {} is not a finite number", what, step),
          "lower optimizer.learning_rate (a tenth is a good try), or limit the gradients: "
          "optimizer.max_grad_norm = 1.0"};
}

}  // namespace headroom::trainer
