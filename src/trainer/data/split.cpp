// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/split.h"

#include <fmt/format.h>

#include <cmath>

#include "trainer/data/batches.h"

namespace headroom::trainer::data {
namespace {

constexpr std::uint64_t split_seed = 4;  // A use of the job's seed; see mix_seed().

}  // namespace

Result<Split> split(Samples samples, double share, std::uint64_t seed) {
  const std::size_t count = samples.size();
  const auto apart = static_cast<std::size_t>(std::ceil(static_cast<double>(count) * share));
  if (apart >= count) {
    return Error{Errc::invalid,
                 fmt::format("data.evaluation: expected a part that leaves samples to train on, "
                             "found {} of {} samples, which is all of them",
                             share, count),
                 "write a smaller part, or name a file of its own: evaluation = \"FILE\""};
  }
  std::vector<bool> chosen(count, false);
  const std::vector<std::size_t> order = shuffled(count, mix_seed(seed, split_seed), 0);
  for (std::size_t i = 0; i < apart; ++i) chosen[order[i]] = true;
  Split parts;
  for (std::size_t i = 0; i < count; ++i)
    (chosen[i] ? parts.evaluation : parts.training).push_back(std::move(samples[i]));
  return parts;
}

Result<Split> read_split(const Source& source, const Evaluation& evaluation, std::uint64_t seed) {
  std::vector<std::string> notes;
  HEADROOM_TRY(Samples samples, read_samples(source, notes));
  Split parts;
  if (evaluation.share) {
    HEADROOM_TRY(parts, split(std::move(samples), *evaluation.share, seed));
  } else {
    parts.training = std::move(samples);
  }
  parts.notes = std::move(notes);
  if (evaluation.share || evaluation.paths.empty()) return parts;
  Source other = source;
  other.paths = evaluation.paths;
  other.key = "data.evaluation";
  HEADROOM_TRY(parts.evaluation, read_samples(other));
  return parts;
}

}  // namespace headroom::trainer::data
