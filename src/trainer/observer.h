// SPDX-License-Identifier: Apache-2.0
// Who hears what happens in a run while it happens.
#pragma once

#include <string>

#include "trainer/metrics.h"

namespace headroom::trainer {

// Its functions are called by the thread that trains.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_note(const std::string& text) = 0;  // One line.
  virtual void on_step(const StepMetrics& metrics) = 0;
  virtual void on_evaluation(const EvaluationMetrics& metrics) = 0;
  // This rank writes from here on, in the place of one that was lost.
  virtual void on_lead() {}
  // Asked after every step; true ends the run with a checkpoint.
  virtual bool wants_stop() = 0;
};

}  // namespace headroom::trainer
