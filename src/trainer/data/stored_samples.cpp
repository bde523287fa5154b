// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/stored_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "machine/checksum.h"

namespace headroom::trainer::data {
namespace {

using tokens::TokenLayout;

const char* reason(TokenLayout::Source source) {
  switch (source) {
    case TokenLayout::Source::file:
      return "as the file says";
    case TokenLayout::Source::job:
      return "as data.dtype says";
    case TokenLayout::Source::vocabulary:
      return "by the size of the vocabulary, as neither a header nor data.dtype says";
  }
  return "";
}

Error no_sample(const Source& source, std::uint64_t tokens) {
  return {Errc::invalid,
          fmt::format("{}: expected a file with batch.sequence = {} tokens or more, or rows of two "
                      "or more, in {}; found {} tokens that fill no sample",
                      source.key, source.longest, join(source.paths, ", "), tokens),
          "write a smaller sequence under [batch], or give more data"};
}

}  // namespace

Status StoredSamples::add(const Source& source, const std::string& path, std::string& sums) {
  HEADROOM_TRY(TokenFile file, TokenFile::open(source, path));
  HEADROOM_TRY(const std::string sum, file.check());
  sums += sum;
  const TokenLayout layout = file.layout();
  tokens_ += layout.count;
  std::uint64_t samples = 0;
  std::uint64_t length = source.longest;
  std::uint64_t stride = source.longest - 1;
  if (layout.columns == 0) {
    samples = (layout.count - 1) / stride;
    left_over_ += samples == 0 ? layout.count : layout.count - 1 - samples * stride;
  } else {
    length = std::min(layout.columns, source.longest);
    stride = layout.columns;
    samples = length < 2 ? 0 : layout.count / layout.columns;
    if (length < layout.columns) shortened_ += samples;
    row_length_ = std::max(row_length_, layout.columns);
  }
  if (samples == 0) return Done{};
  parts_.push_back({std::move(file), size_, samples, length, stride});
  size_ += samples;
  return Done{};
}

std::string StoredSamples::describe(const Source& source) const {
  const TokenLayout& layout = parts_.front().file.layout();
  std::string note = fmt::format("{}: {} token ids ({}, {}), {} samples", source.key, tokens_,
                                 to_string(layout.type), reason(layout.source), size_);
  if (left_over_ > 0)
    note += fmt::format("; tokens at the end that fill no sample and are left out: {}", left_over_);
  if (shortened_ > 0)
    note += fmt::format(
        "; rows of up to {} tokens, which lost what is beyond batch.sequence = {}: "
        "{}",
        row_length_, source.longest, shortened_);
  return note;
}

Result<std::shared_ptr<const StoredSamples>> StoredSamples::open(
    const Source& source, const std::vector<std::string>& files, std::vector<std::string>& notes) {
  auto samples = std::make_shared<StoredSamples>();
  std::string sums = fmt::format("{}\n", source.longest);
  for (const std::string& path : files) HEADROOM_CHECK(samples->add(source, path, sums));
  if (samples->size_ == 0) return no_sample(source, samples->tokens_);
  samples->checksum_ = machine::sha256(sums);
  notes.push_back(samples->describe(source));
  return std::shared_ptr<const StoredSamples>(std::move(samples));
}

const StoredSamples::Part& StoredSamples::part_of(std::size_t index) const {
  const auto behind =
      std::upper_bound(parts_.begin(), parts_.end(), index,
                       [](std::size_t wanted, const Part& part) { return wanted < part.first; });
  return *std::prev(behind);
}

std::size_t StoredSamples::length(std::size_t index) const {
  return part_of(index).length;
}

Status StoredSamples::read(std::size_t index, Sample& sample) const {
  const Part& part = part_of(index);
  sample.resize(part.length);
  return part.file.read((index - part.first) * part.stride, sample);
}

}  // namespace headroom::trainer::data
