// SPDX-License-Identifier: Apache-2.0
#include "trainer/oom_score.h"

#include <fstream>

namespace headroom::trainer {
namespace {

constexpr int raised = 500;  // Thousandths of the machine's memory; proc(5).
constexpr const char* file = "/proc/self/oom_score_adj";

}  // namespace

void raise_oom_score() {
  int score = raised;
  std::ifstream(file) >> score;
  if (score < raised) std::ofstream(file) << raised;
}

}  // namespace headroom::trainer
