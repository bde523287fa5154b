// SPDX-License-Identifier: Apache-2.0
// What TensorBoard shows of a run: a file of events in OUTPUT/tensorboard for every process that
// trained, which TensorBoard joins by their steps. It is something to look at and nothing to go on
// from: where it cannot be written, the run says so once and goes on without.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "machine/descriptor.h"
#include "trainer/event_records.h"
#include "trainer/metrics.h"

namespace headroom::trainer {

class EventFile {
 public:
  // A new file that goes on after step `steps`. Its name comes after those of the files that lie in
  // `folder`, which is made where it is not there.
  static Result<EventFile> create(const std::string& folder, std::uint64_t steps);

  // Each record is on its way to the disk when these return; one that does not fit on it leaves no
  // part of itself.
  Status add(const StepMetrics& metrics);
  Status add(const EvaluationMetrics& metrics);

 private:
  EventFile(std::string path, machine::Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status write(const std::string& record);

  std::string path_;
  machine::Descriptor file_;
  std::uint64_t bytes_ = 0;  // Of whole records.
};

// How many bytes a step and an evaluation take in it at most.
inline constexpr std::uint64_t event_bytes = 320;

}  // namespace headroom::trainer
