// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/sample_set.h"

#include <string_view>

#include "tokens/example.h"
#include "trainer/data/checksum.h"

namespace headroom::trainer::data {

std::size_t SampleSet::size() const {
  if (!stored_) return samples_.size();
  return part_ ? part_->size() : stored_->size();
}

std::size_t SampleSet::tokens_of(std::size_t index) const {
  return stored_ ? stored_->length(place(index)) : samples_[index].size();
}

std::size_t SampleSet::targets_of(std::size_t index) const {
  // All of a file's tokens are learned.
  return stored_ ? stored_->length(place(index)) - 1 : tokens::count_targets(samples_[index]);
}

std::uint64_t SampleSet::count_tokens() const {
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < size(); ++i) tokens += tokens_of(i);
  return tokens;
}

std::vector<std::size_t> SampleSet::samples_in(std::size_t row) const {
  if (!packing_) return {row};
  const auto samples = packing_->row(row);
  return {samples.begin(), samples.end()};
}

void SampleSet::pack(std::span<const std::size_t> order, std::uint64_t longest) {
  packing_ = Packing::pack(
      order, [this](std::size_t index) { return tokens_of(index); }, longest);
}

Result<std::span<const std::int32_t>> SampleSet::read(std::size_t index, Sample& space) const {
  if (!stored_) return std::span<const std::int32_t>(samples_[index]);
  HEADROOM_CHECK(stored_->read(place(index), space));
  return std::span<const std::int32_t>(space);
}

std::string SampleSet::checksum() const {
  if (!stored_) return checksum_of(samples_);
  if (!part_) return stored_->checksum();
  const std::string_view places(reinterpret_cast<const char*>(part_->data()),
                                part_->size() * sizeof(std::size_t));
  return checksum_of(stored_->checksum() + checksum_of(places));
}

std::pair<SampleSet, SampleSet> SampleSet::partition(const std::vector<bool>& chosen) && {
  std::pair<SampleSet, SampleSet> parts;
  const auto part_for = [&](std::size_t index) -> SampleSet& {
    return chosen[index] ? parts.first : parts.second;
  };
  for (SampleSet* part : {&parts.first, &parts.second}) {
    part->stored_ = stored_;
    if (stored_) part->part_.emplace();
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (stored_) {
      part_for(i).part_->push_back(place(i));
    } else {
      part_for(i).samples_.push_back(std::move(samples_[i]));
    }
  }
  return parts;
}

}  // namespace headroom::trainer::data
