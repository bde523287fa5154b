// SPDX-License-Identifier: Apache-2.0
// Samples that stay in the files that another program tokenised, and are read when they are asked
// for: what is kept of them is where they lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "trainer/data/samples.h"
#include "trainer/data/token_file.h"

namespace headroom::trainer::data {

// A stream of tokens is cut into samples of Source::longest tokens that overlap by one: the last
// token of a sample is a target there and the first one of the next. So every token but a file's
// first is a target once; what remains at a file's end and fills no sample is left out. Of an array
// with rows each row is a sample, without its end if it is longer. Samples do not cross files,
// which are in the order of `files`.
class StoredSamples {
 public:
  // Opens and checks all of the files. Adds to `notes` what a person should know of them. Fails as
  // TokenFile does, and where there is no sample. Requires: source.longest >= 2.
  static Result<std::shared_ptr<const StoredSamples>> open(const Source& source,
                                                           const std::vector<std::string>& files,
                                                           std::vector<std::string>& notes);

  std::size_t size() const { return size_; }
  std::size_t length(std::size_t index) const;  // Tokens of a sample, at least 2.
  // Fails as TokenFile::read() does.
  Status read(std::size_t index, Sample& sample) const;
  // Of every file's tokens, in order, and of how they are cut.
  const std::string& checksum() const { return checksum_; }

 private:
  struct Part {
    TokenFile file;
    std::size_t first = 0;  // Sample of all.
    std::size_t samples = 0;
    std::uint64_t length = 0;
    std::uint64_t stride = 0;  // Tokens from a sample's first to that of the next.
  };

  Status add(const Source& source, const std::string& path, std::string& sums);
  std::string describe(const Source& source) const;
  const Part& part_of(std::size_t index) const;

  std::vector<Part> parts_;  // Each with a sample at least.
  std::size_t size_ = 0;
  std::string checksum_;
  std::uint64_t tokens_ = 0;      // In the files.
  std::uint64_t left_over_ = 0;   // At the ends of streams.
  std::uint64_t shortened_ = 0;   // Rows.
  std::uint64_t row_length_ = 0;  // Of the longest.
};

}  // namespace headroom::trainer::data
