// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/bytes.h"
#include "trainer/data/batches.h"
#include "trainer/data/job_source.h"
#include "trainer/data/split.h"

namespace headroom::trainer::data {
namespace {

namespace fs = std::filesystem;
using Shapes = std::map<estimate::MicroBatchShape, double>;

constexpr Bytes most_data{std::uint64_t{64} << 20U};

// Of all files below the paths, whether they are read or not.
Bytes size_of(const std::vector<std::string>& paths) {
  std::uint64_t total = 0;
  std::error_code ignored;  // What cannot be read fails with its reason where samples are read.
  for (const std::string& path : paths) {
    if (!fs::is_directory(path, ignored)) {
      const auto size = fs::file_size(path, ignored);
      if (!ignored) total += size;
      continue;
    }
    fs::recursive_directory_iterator entry(path, ignored);
    for (; !ignored && entry != fs::recursive_directory_iterator(); entry.increment(ignored))
      if (entry->is_regular_file(ignored)) total += entry->file_size(ignored);
  }
  return {total};
}

// Lengths are rounded up to a sixty-fourth of the longest, so that there are not too many shapes.
void add_micro_batch(const SampleSet& samples, const std::vector<std::size_t>& indices,
                     std::uint64_t longest, Shapes& shapes) {
  constexpr std::uint64_t parts = 64;
  std::uint64_t length = 0;
  for (const std::size_t index : indices)
    length = std::max<std::uint64_t>(length, samples.tokens_of(index));
  const std::uint64_t step = std::max<std::uint64_t>(1, longest / parts);
  length = std::min(longest, (length + step - 1) / step * step);
  shapes[{indices.size(), length}] += 1;
}

std::uint64_t add_steps(const SampleSet& samples, const std::vector<std::size_t>& order,
                        BatchShape batch, std::uint64_t longest, Shapes& shapes) {
  std::uint64_t steps = 0;
  for (std::size_t position = 0; position < order.size(); ++steps) {
    const StepSamples step = make_step(samples, order, position, batch);
    for (const auto& indices : step.micro_batches)
      add_micro_batch(samples, indices, longest, shapes);
    position += step.samples;
  }
  return steps;
}

}  // namespace

Result<estimate::EpochShape> count_epoch(const run::LoadedJob& loaded) {
  HEADROOM_TRY(const Source source, make_source(loaded));
  const Evaluation evaluation = make_evaluation(loaded);
  if (source.paths.empty()) return Error{Errc::not_found, "the job names no data", ""};
  const Bytes size{size_of(source.paths).value + size_of(evaluation.paths).value};
  if (size > most_data)
    return Error{Errc::unsupported,
                 fmt::format("the data have {}, and headroom counts up to {}", to_string(size),
                             to_string(most_data)),
                 ""};
  const auto& data = loaded.job.data;
  HEADROOM_TRY(const Split samples, read_split(source, evaluation, data.seed));
  const BatchShape batch = make_batch(loaded.job.batch);
  estimate::EpochShape epoch;
  epoch.steps = add_steps(samples.training, shuffled(samples.training.size(), data.seed, 0), batch,
                          source.longest, epoch.training);
  if (samples.evaluation.empty()) return epoch;
  std::vector<std::size_t> order(samples.evaluation.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  add_steps(samples.evaluation, order, {.micro = batch.micro}, source.longest, epoch.evaluation);
  const double evaluations =
      data.evaluate_every == 0
          ? 1
          : static_cast<double>(epoch.steps) / static_cast<double>(data.evaluate_every);
  for (auto& [shape, count] : epoch.evaluation) count *= evaluations;
  return epoch;
}

}  // namespace headroom::trainer::data
