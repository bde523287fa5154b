// SPDX-License-Identifier: Apache-2.0
// One bucket in flight, as this rank sees it, and the data side of the protocol's actions: what is
// copied in, compared, summed and copied out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "averager/request.h"
#include "averager/segment.h"
#include "base/result.h"

namespace headroom::averager {

class BucketWork {
 public:
  struct Place {
    std::uint64_t offset = 0;  // In this rank's arena: the caller's own, or
    bool is_copied = false;    // a place to copy the data to.
  };
  // `request` is the bucket, or the piece of it that this is about; then `whole_elements` are those
  // of all pieces.
  BucketWork(const Segment& segment, protocol::Bucket bucket, const Request& request,
             std::uint64_t whole_elements, const Place& place);

  protocol::Bucket bucket() const { return bucket_; }
  const Request& request() const { return request_; }

  void publish();
  // Returns the number of chunks, 0 if the ranks in `present` cannot be averaged: see verdict().
  std::uint32_t compare(protocol::RankMask present, protocol::RankMask expected, Policy policy);
  void sum(std::uint32_t chunk, protocol::RankMask present);
  void push(std::uint32_t chunk, protocol::RankMask present, std::uint32_t scratch);
  void collect(std::uint32_t chunk);
  // Why compare() returned 0, if that was a failure.
  const std::optional<Error>& verdict() const { return verdict_; }

 private:
  struct Piece {
    std::uint64_t offset = 0;  // From the bucket's beginning.
    std::uint64_t bytes = 0;
  };
  Piece piece(std::uint32_t chunk) const;
  bool is_large() const;
  std::byte* data_of(std::uint32_t rank, const Piece& piece) const;
  std::optional<Error> find_disagreement(protocol::RankMask present) const;

  const Segment* segment_;
  protocol::Bucket bucket_;
  Request request_;
  std::uint64_t whole_elements_;
  std::uint64_t offset_;
  bool is_copied_;
  std::vector<bool> collected_;
  std::optional<Error> verdict_;
};

// "0, 2"
std::string to_text(protocol::RankMask ranks);

}  // namespace headroom::averager
