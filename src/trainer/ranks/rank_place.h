// SPDX-License-Identifier: Apache-2.0
// Which of a job's ranks this process is: what `headroom run --ranks` writes into the environment
// of each (run/command/ranks.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace headroom::trainer {

struct RankPlace {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::string job;       // Names what the ranks share; empty: this process trains alone.
  bool goes_on = false;  // Without ranks that are lost; else the others end as well.

  bool is_alone() const { return job.empty(); }
};

// The value of an environment variable, or nothing.
using Variables = std::function<std::optional<std::string>(const char* name)>;

// Fails where the variables make no place, and where another launcher started several processes:
// each of them would train the whole job by itself.
Result<RankPlace> read_rank_place(const Variables& variables);

}  // namespace headroom::trainer
