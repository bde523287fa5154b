// SPDX-License-Identifier: Apache-2.0
// The sequence of allocations that the planner records for a job, for tests/plan/align.py:
//   step_sequence < JOB.json
// Prints a line per event, "PHASE + TENSOR BYTES NAME" or "PHASE - TENSOR". Exit 2: an error, said
// on stderr.
#include <cstdio>
#include <string>

#include "estimate/plan.h"
#include "estimate/step.h"
#include "run/job_file.h"

namespace {

using namespace headroom;

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 2;
}

void print(const estimate::Recording& recording) {
  for (const estimate::Event& event : recording.events) {
    const std::string phase(estimate::to_string(event.phase));
    if (event.kind == estimate::Event::Kind::release)
      std::printf("%s - %u\n", phase.c_str(), event.tensor);
    if (event.kind != estimate::Event::Kind::allocate) continue;
    std::printf("%s + %u %llu %s\n", phase.c_str(), event.tensor,
                static_cast<unsigned long long>(recording.tensors[event.tensor].bytes),
                recording.name_of(event.tensor).c_str());
  }
}

}  // namespace

int main() {
  const auto loaded = run::load_job("-");
  if (!loaded) return fail(loaded.error());
  const auto device = estimate::find_device(loaded->job);
  if (!device) return fail(device.error());
  const auto plan = estimate::make_plan(loaded->job, loaded->model, *device);
  if (!plan) return fail(plan.error());
  const auto recording = estimate::record_step(plan->job, loaded->model, *device);
  if (!recording) return fail(recording.error());
  print(*recording);
  return 0;
}
