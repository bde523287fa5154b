// SPDX-License-Identifier: Apache-2.0
// The samples that a run draws from, wherever they are: in memory, or in files of token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trainer/data/packing.h"
#include "trainer/data/samples.h"
#include "trainer/data/stored_samples.h"

namespace headroom::trainer::data {

// Sample `index` of a set never changes, so that an order of indices means the same samples in a
// resumed run. Neither does a row, once the set is packed.
class SampleSet {
 public:
  SampleSet() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): samples in memory are such a set.
  SampleSet(Samples samples) : samples_(std::move(samples)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as are all those of some files.
  SampleSet(std::shared_ptr<const StoredSamples> stored) : stored_(std::move(stored)) {}

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  std::size_t tokens_of(std::size_t index) const;
  // Tokens to predict of a sample: those that are learned, but for its first one.
  std::size_t targets_of(std::size_t index) const;
  std::uint64_t count_tokens() const;  // Of all samples.

  // Rows of a batch: a sample each, padded to the longest beside it, until pack() lays several end
  // to end in one.
  std::size_t rows() const { return packing_ ? packing_->rows() : size(); }
  std::vector<std::size_t> samples_in(std::size_t row) const;
  bool is_packed() const { return packing_.has_value(); }
  // In rows of at most `longest` tokens, which no sample may exceed; `order`, of all samples,
  // decides which of them meet (packing.h).
  void pack(std::span<const std::size_t> order, std::uint64_t longest);

  // The tokens of a sample, which are valid while the set and `space` are and until `space` is used
  // again. Fails as StoredSamples::read() does.
  Result<std::span<const std::int32_t>> read(std::size_t index, Sample& space) const;

  // Of every sample's tokens, in order.
  std::string checksum() const;

  // Those with `chosen[index]`, and the others, both in their order. Requires: as many as there are
  // samples, which are not packed.
  std::pair<SampleSet, SampleSet> partition(const std::vector<bool>& chosen) &&;

 private:
  std::size_t place(std::size_t index) const { return part_ ? (*part_)[index] : index; }

  Samples samples_;  // If stored_ is null.
  std::shared_ptr<const StoredSamples> stored_;
  std::optional<std::vector<std::size_t>> part_;  // Of stored_; none: all of it.
  std::optional<Packing> packing_;
};

// As read_samples(), or where source.kind says so as StoredSamples::open().
Result<SampleSet> open_samples(const Source& source, std::vector<std::string>& notes);

}  // namespace headroom::trainer::data
