// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "trainer/data/batches.h"
#include "trainer/data/mix_seed.h"

namespace headroom::trainer::data {
namespace {

constexpr std::uint64_t split_seed = 4;  // Uses of the job's seed; see mix_seed().
constexpr std::uint64_t packing_seed = 5;

// Neighbours in a file are alike, in length too: they are dealt out before they are packed.
void pack(SampleSet& samples, std::uint64_t longest, std::uint64_t seed) {
  samples.pack(shuffled(samples.size(), mix_seed(seed, packing_seed), 0), longest);
}

std::string describe_packing(const SampleSet& samples, std::uint64_t longest) {
  const double full = static_cast<double>(samples.count_tokens()) /
                      (static_cast<double>(samples.rows()) * static_cast<double>(longest));
  return fmt::format(
      "data.packing: {} samples in {} rows of up to {} tokens, which are {:.1f} % full",
      samples.size(), samples.rows(), longest, 100 * full);
}

}  // namespace

Result<Split> split(SampleSet samples, double share, std::uint64_t seed) {
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
  std::tie(parts.evaluation, parts.training) = std::move(samples).partition(chosen);
  return parts;
}

namespace {

Result<Split> read_parts(const Source& source, const Evaluation& evaluation, std::uint64_t seed) {
  std::vector<std::string> notes;
  HEADROOM_TRY(SampleSet samples, open_samples(source, notes));
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
  std::vector<std::string> said;
  HEADROOM_TRY(parts.evaluation, open_samples(other, said));
  // How the tokenizer works has been said; what became of these files has not.
  std::copy_if(said.begin(), said.end(), std::back_inserter(parts.notes),
               [&](const std::string& note) { return note.starts_with(other.key); });
  return parts;
}

}  // namespace

Result<Split> read_split(const Source& source, const Evaluation& evaluation, std::uint64_t seed) {
  HEADROOM_TRY(Split parts, read_parts(source, evaluation, seed));
  if (!source.packing) return parts;
  pack(parts.training, source.longest, seed);
  pack(parts.evaluation, source.longest, seed);
  parts.notes.push_back(describe_packing(parts.training, source.longest));
  return parts;
}

}  // namespace headroom::trainer::data
