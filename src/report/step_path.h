// SPDX-License-Identifier: Apache-2.0
// A line in steps as the path of an SVG: what an event left stays until the next one. A picture has
// far fewer units than a step has events, so a rise stays visible for a unit although it ends
// before: a peak of one allocation is drawn as high as its label says.
#pragma once

#include <string>

namespace headroom::report {

class StepPath {
 public:
  // From `x` on the line is at `y`, which grows downwards. Requires: `x` never falls.
  void add(double x, double y);
  // The path with its end at `x`; empty if nothing was added.
  std::string finish(double x);

 private:
  std::string path_;
  std::string y_text_;  // As it is drawn; steps that a reader cannot see are left out.
  double y_ = 0;
  double drawn_to_ = 0;
  double rise_ = 0;  // Where the line last went up.
};

}  // namespace headroom::report
