// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/epoch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

// What takes as long: rows of one sample are padded to the longest. Samples end to end are as many
// tokens, whose attention is that of samples of the mean length that a token finds itself in.
estimate::MicroBatchShape shape_of(const SampleSet& samples, const std::vector<std::size_t>& rows) {
  std::uint64_t count = 0, longest = 0;
  double tokens = 0, squares = 0;
  for (const std::size_t row : rows) {
    for (const std::size_t sample : samples.samples_in(row)) {
      const std::uint64_t length = samples.tokens_of(sample);
      longest = std::max(longest, length);
      tokens += static_cast<double>(length);
      squares += static_cast<double>(length) * static_cast<double>(length);
      ++count;
    }
  }
  if (!samples.is_packed()) return {count, longest};
  const double alike = std::max(1.0, std::round(tokens * tokens / squares));
  return {static_cast<std::uint64_t>(alike), static_cast<std::uint64_t>(std::ceil(tokens / alike))};
}

// Lengths are rounded up to a sixty-fourth of the longest, so that there are not too many shapes.
void add_micro_batch(const SampleSet& samples, const std::vector<std::size_t>& rows,
                     std::uint64_t longest, Shapes& shapes) {
  constexpr std::uint64_t parts = 64;
  auto shape = shape_of(samples, rows);
  const std::uint64_t of_all = longest / parts;
  const std::uint64_t step =
      std::max<std::uint64_t>(1, samples.is_packed() ? of_all / shape.samples : of_all);
  shape.length = std::min(longest, (shape.length + step - 1) / step * step);
  shapes[shape] += 1;
}

std::uint64_t add_steps(const SampleSet& samples, const std::vector<std::size_t>& order,
                        BatchShape batch, std::uint64_t longest, Shapes& shapes) {
  std::uint64_t steps = 0;
  for (std::size_t position = 0; position < order.size(); ++steps) {
    const StepSamples step = make_step(samples, order, position, batch);
    for (const auto& indices : step.micro_batches)
      add_micro_batch(samples, indices, longest, shapes);
    position += step.rows;
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
  epoch.steps = add_steps(samples.training, shuffled(samples.training.rows(), data.seed, 0), batch,
                          source.longest, epoch.training);
  if (samples.evaluation.empty()) return epoch;
  std::vector<std::size_t> order(samples.evaluation.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  add_steps(samples.evaluation, order, {.micro = batch.micro}, source.longest, epoch.evaluation);
  const double evaluations =
      data.evaluate_every == 0
          ? 1
          : static_cast<double>(epoch.steps) / static_cast<double>(data.evaluate_every);
  for (auto& [shape, count] : epoch.evaluation) count *= evaluations;
  return epoch;
}

double padding_unpacked(const SampleSet& samples, std::uint64_t micro, std::uint64_t seed) {
  const std::vector<std::size_t> order = shuffled(samples.size(), seed, 0);
  double tokens = 0, padded = 0;
  for (std::size_t first = 0; first < order.size(); first += micro) {
    const std::size_t end = std::min<std::size_t>(order.size(), first + micro);
    std::size_t longest = 0;
    for (std::size_t i = first; i < end; ++i) {
      longest = std::max(longest, samples.tokens_of(order[i]));
      tokens += static_cast<double>(samples.tokens_of(order[i]));
    }
    padded += static_cast<double>(longest * (end - first));
  }
  return padded > 0 ? 1 - tokens / padded : 0;
}

}  // namespace headroom::trainer::data
