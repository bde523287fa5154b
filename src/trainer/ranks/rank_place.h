// SPDX-License-Identifier: Apache-2.0
// Which of a job's ranks this process is, from the environment in which it was started: by
// `headroom run --ranks` (run/command/ranks.h), or by a launcher of several machines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace headroom::trainer {

// Where ranks of several machines find each other: PyTorch's standard variables MASTER_ADDR and
// MASTER_PORT (https://pytorch.org/docs/stable/distributed.html, "Environment variable
// initialization").
struct Rendezvous {
  std::string host;         // Of rank 0, a name or an address.
  std::uint16_t port = 0;   // On which rank 0 listens.
  std::uint32_t tried = 0;  // How often the launcher has started the ranks anew.
};

struct RankPlace {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::string job;          // Names what ranks of one machine share.
  bool goes_on = false;     // Without ranks that are lost; else the others end as well.
  bool admits = false;      // Those that are lost are started again, and come back (ranks.h).
  bool comes_back = false;  // This is such a one.
  std::optional<Rendezvous> rendezvous = {};  // Of ranks that another launcher has started.
  std::uint32_t on_this_machine = 1;          // Of the ranks.

  bool is_alone() const { return job.empty() && !rendezvous; }
};

// The value of an environment variable, or nothing.
using Variables = std::function<std::optional<std::string>(const char* name)>;

// Understands headroom's own ranks, torchrun and what else sets PyTorch's variables (Kubernetes'
// PyTorchJob), Open MPI's mpirun, Slurm's srun, and PMI (MPICH, Intel MPI). Fails where the
// variables make no place.
Result<RankPlace> read_rank_place(const Variables& variables);

}  // namespace headroom::trainer
