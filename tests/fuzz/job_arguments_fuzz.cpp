// SPDX-License-Identifier: Apache-2.0
// The dimensions in a command line or a log, and the tensors that they make of a size.
#include "estimate/explain.h"
#include "estimate/job_arguments.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::estimate;
  const JobDimensions known = dimensions_in(fuzz::to_text(data, size));
  for (std::size_t i = 0; i < dimension_count; ++i) {
    const auto& readings = known.of(static_cast<Dimension>(i));
    fuzz::require(readings.size() <= JobDimensions::max_readings);
    for (const Reading& reading : readings)
      fuzz::require(reading.value > 0 && !reading.source.empty());
  }
  const auto printed = parse_printed_size("3.99 GiB");
  fuzz::require(printed.has_value());
  for (const TensorMatch& match : explain_allocation(printed->size, printed->precision, known)) {
    fuzz::require(printed->stands_for(match.bytes));
    fuzz::require(!match.tensor.empty() && !match.shape.empty() && !match.removed_by.empty());
  }
  return 0;
}
