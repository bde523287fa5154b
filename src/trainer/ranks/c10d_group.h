// SPDX-License-Identifier: Apache-2.0
// The ranks of a job that torchrun, srun, mpirun or Kubernetes has started, on one machine or
// several: PyTorch's own c10d with Gloo. Nothing of a transport is ours.
//
// A sum is made in the order of ranks, as in shared memory, so that a job gives the same bytes
// either way: each rank gets its share of everybody's elements (all-to-all), sums it, and hands it
// out (all-to-all again). That is as many bytes as a ring's all-reduce.
//
// A rank that ends closes its connections. One that is stopped, or cut off, is noticed by its pulse
// (c10d_pulse.h). Either ends the job for the others: how to go on with those that are left is the
// launcher's to decide.
//
// Memory: twice the staging, of the process's own and not of the device's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "trainer/observer.h"
#include "trainer/ranks/group.h"
#include "trainer/ranks/rank_place.h"

namespace headroom::trainer {

struct JoinTimes {
  std::chrono::seconds meet = std::chrono::minutes(10);    // For all ranks to come.
  std::chrono::seconds silent = std::chrono::seconds(30);  // After which one is lost.
};

// Waits until all ranks are there, and says so to `observer` if that takes long. Fails as meet()
// does (c10d_store.h). Requires: place.rendezvous.
Result<std::unique_ptr<RankGroup>> join_c10d(const RankPlace& place, std::uint64_t job,
                                             Observer& observer, const JoinTimes& times = {});

}  // namespace headroom::trainer
