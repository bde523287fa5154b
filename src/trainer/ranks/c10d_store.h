// SPDX-License-Identifier: Apache-2.0
// Where ranks of several machines meet: c10d's TCPStore, which rank 0 keeps.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/result.h"
#include "trainer/ranks/c10d_group.h"
#include "trainer/ranks/rank_place.h"

namespace headroom::trainer {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// What c10d throws is text over several lines, with a stack where it is built so: the first line.
std::string what_c10d_says(const std::exception& error);

// Another connection to the store that rank 0 keeps. Fails where it is not reached in time.
// Requires: meet() has succeeded.
Result<StorePtr> connect_again(const RankPlace& place);

struct Meeting {
  StorePtr store;       // Of these ranks alone, and of this try of theirs.
  std::string address;  // Of this machine, as the others reach it.
};

// Rank 0 opens the store, the others reach it, and all have said who they are when it returns.
// `job`: a number that ranks of one job have in common. Fails where one does not come in time, is
// of another job or says that it is a rank that is there already, and where a stop is wanted.
Result<Meeting> meet(const RankPlace& place, std::uint64_t job, const JoinTimes& times,
                     Observer& observer);

}  // namespace headroom::trainer
