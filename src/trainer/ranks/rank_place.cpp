// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/rank_place.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "base/text.h"
#include "run/job_ranks.h"

namespace headroom::trainer {
namespace {

Result<std::uint32_t> number_in(const Variables& variables, const char* name, std::uint64_t least,
                                std::uint64_t most) {
  const auto text = variables(name);
  const auto number = text ? parse_u64(*text) : std::nullopt;
  if (number && *number >= least && *number <= most) return static_cast<std::uint32_t>(*number);
  return Error{Errc::invalid,
               fmt::format("{}: expected a number from {} to {}, found {}", name, least, most,
                           text ? "\"" + printable(*text) + "\"" : "nothing"),
               "headroom run --ranks 2 JOB sets it"};
}

}  // namespace

Result<RankPlace> read_rank_place(const Variables& variables) {
  const auto job = variables("HEADROOM_RANKS_JOB");
  const auto world = variables("WORLD_SIZE");
  if (!job || job->empty()) {
    if (!world || parse_u64(*world).value_or(1) <= 1) return RankPlace{};
    return Error{
        Errc::unsupported,
        fmt::format("WORLD_SIZE={}: expected to be started once, or as a rank by headroom; "
                    "found another launcher, under which each process would train the "
                    "whole job",
                    printable(*world)),
        fmt::format("headroom run --ranks {} JOB, on one machine", printable(*world))};
  }
  RankPlace place{.job = *job, .goes_on = variables("HEADROOM_RANKS_LOST") == "continue"};
  HEADROOM_TRY(place.ranks, number_in(variables, "WORLD_SIZE", 1, run::most_job_ranks));
  HEADROOM_TRY(place.rank, number_in(variables, "RANK", 0, place.ranks - 1));
  if (place.ranks == 1) return RankPlace{};
  return place;
}

}  // namespace headroom::trainer
