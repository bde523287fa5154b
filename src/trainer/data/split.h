// SPDX-License-Identifier: Apache-2.0
// The samples of a job in two parts: those it trains on, and those that only show how well the
// model does on what it has not seen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trainer/data/sample_set.h"

namespace headroom::trainer::data {

// Where the second part comes from; nothing: there is none.
struct Evaluation {
  std::optional<double> share;     // Of the samples, between 0 and 1.
  std::vector<std::string> paths;  // Files and folders as in Source::paths.
};

struct Split {
  SampleSet training;
  SampleSet evaluation;
  std::vector<std::string> notes = {};  // What a person should know of how they were read.
};

// Sets ⌈share · count⌉ samples apart, drawn by `seed`; both parts keep the samples' order. Fails if
// nothing would be left to train on.
Result<Split> split(SampleSet samples, double share, std::uint64_t seed);

// Reads both parts, and packs them where the source says so. Fails as open_samples() and split()
// do.
Result<Split> read_split(const Source& source, const Evaluation& evaluation, std::uint64_t seed);

}  // namespace headroom::trainer::data
