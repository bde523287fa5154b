// SPDX-License-Identifier: Apache-2.0
#include "averager/bucket_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace headroom::averager {
namespace {

using protocol::bit;
using protocol::RankMask;

bool takes_part(RankMask ranks, std::uint32_t rank) {
  return (ranks & bit(rank)) != 0;
}

std::string to_text(const Description& description) {
  constexpr std::array kinds = {"an average", "a sum", "a broadcast", "a step's border"};
  constexpr std::array types = {"float32", "bfloat16"};
  const char* kind = description.kind < kinds.size() ? kinds.at(description.kind) : "nonsense";
  if (description.kind == static_cast<std::uint32_t>(Kind::step)) return kind;
  const char* type = description.type < types.size() ? types.at(description.type) : "nonsense";
  std::string text = fmt::format("{} of {} {}", kind, description.elements, type);
  if (description.in_pieces != 0) text += " in pieces";
  if (description.kind == static_cast<std::uint32_t>(Kind::broadcast))
    text += fmt::format(" from rank {}", description.root);
  return text;
}

bool agree(const Description& one, const Description& other) {
  return one.elements == other.elements && one.type == other.type && one.kind == other.kind &&
         one.root == other.root && one.in_pieces == other.in_pieces;
}

}  // namespace

std::string to_text(RankMask ranks) {
  std::string text;
  for (std::uint32_t rank = 0; rank < protocol::max_ranks; ++rank)
    if (takes_part(ranks, rank)) text += fmt::format("{}{}", text.empty() ? "" : ", ", rank);
  return text;
}

BucketWork::BucketWork(const Segment& segment, protocol::Bucket bucket, const Request& request,
                       std::uint64_t whole_elements, const Place& place)
    : segment_(&segment),
      bucket_(bucket),
      request_(request),
      whole_elements_(whole_elements),
      offset_(place.offset),
      is_copied_(place.is_copied) {}

BucketWork::Piece BucketWork::piece(std::uint32_t chunk) const {
  const std::uint64_t size = segment_->terms().chunk_bytes;
  const std::uint64_t begin = chunk * size;
  return {.offset = begin, .bytes = std::min(size, request_.bytes() - begin)};
}

std::byte* BucketWork::data_of(std::uint32_t rank, const Piece& piece) const {
  const auto& description = segment_->description(rank, segment_->self().slot(bucket_));
  return segment_->arena(rank) + description.offset + piece.offset;
}

// Whether the bucket is out of every cache before somebody comes back to its beginning.
bool BucketWork::is_large() const {
  constexpr std::uint64_t large_bytes = std::uint64_t{8} << 20U;
  return request_.bytes() >= large_bytes;
}

void BucketWork::publish() {
  const protocol::Self& self = segment_->self();
  const bool brings_data = request_.kind != Kind::broadcast || request_.root == self.rank;
  if (is_copied_ && brings_data && request_.elements != 0)
    copy(request_.data, segment_->arena(self.rank) + offset_, request_.bytes(), is_large());
  segment_->description(self.rank, self.slot(bucket_)) = {
      .elements = whole_elements_,
      .offset = offset_,
      .type = static_cast<std::uint32_t>(request_.type),
      .kind = static_cast<std::uint32_t>(request_.kind),
      .root = request_.root,
      .in_pieces = request_.in_pieces ? 1U : 0U};
}

std::optional<Error> BucketWork::find_disagreement(RankMask present) const {
  const std::uint32_t slot = segment_->self().slot(bucket_);
  const auto first = static_cast<std::uint32_t>(std::countr_zero(present));
  const Description& wanted = segment_->description(first, slot);
  for (std::uint32_t rank = first; rank < segment_->self().ranks; ++rank) {
    if (!takes_part(present, rank)) continue;
    const Description& found = segment_->description(rank, slot);
    if (!agree(wanted, found))
      return Error{Errc::invalid,
                   fmt::format("the ranks disagree about bucket {}: expected {} as rank {} has it, "
                               "found {} at rank {}",
                               bucket_, to_text(wanted), first, to_text(found), rank),
                   "start the same buckets in the same order on every rank"};
    const std::uint64_t arena = segment_->terms().arena_bytes;
    if (found.offset > arena || request_.bytes() > arena - found.offset)
      return Error{Errc::invalid,
                   fmt::format("expected bucket {} of rank {} to lie in its arena of {} bytes, "
                               "found it at {}",
                               bucket_, rank, arena, found.offset),
                   "this is damaged memory: start the job again"};
  }
  return std::nullopt;
}

std::uint32_t BucketWork::compare(RankMask present, RankMask expected, Policy policy) {
  const auto lost = static_cast<RankMask>(expected & ~present);
  verdict_ = find_disagreement(present);
  if (!verdict_ && lost != 0 && policy == Policy::fail)
    verdict_ = Error{
        Errc::io, fmt::format("rank {} is gone: expected it at bucket {}", to_text(lost), bucket_),
        "go on from the last checkpoint with the ranks that are left"};
  if (!verdict_ && request_.kind == Kind::broadcast && !takes_part(present, request_.root))
    verdict_ = Error{
        Errc::io,
        fmt::format("rank {} is gone, whose data bucket {} was to have", request_.root, bucket_),
        "broadcast from a rank that is present"};
  if (verdict_) return 0;
  const std::uint64_t size = segment_->terms().chunk_bytes;
  const auto chunks = static_cast<std::uint32_t>((request_.bytes() + size - 1) / size);
  collected_.assign(chunks, false);
  return chunks;
}

void BucketWork::sum(std::uint32_t chunk, RankMask present) {
  const RankMask sources = request_.kind == Kind::broadcast ? bit(request_.root) : present;
  std::array<const std::byte*, protocol::max_ranks> inputs = {};
  std::size_t count = 0;
  const Piece part = piece(chunk);
  for (std::uint32_t rank = 0; rank < segment_->self().ranks; ++rank)
    if (takes_part(sources, rank)) inputs.at(count++) = data_of(rank, part);
  std::byte* const into = segment_->scratch(segment_->self().rank);
  if (request_.kind == Kind::broadcast) {
    copy(inputs.front(), into, part.bytes);
    return;
  }
  const auto divisor = request_.kind == Kind::average ? static_cast<std::uint32_t>(count) : 1U;
  averager::sum(request_.type, {inputs.data(), count}, divisor, into,
                part.bytes / bytes_of(request_.type));
}

void BucketWork::push(std::uint32_t chunk, RankMask present, std::uint32_t scratch) {
  const std::uint32_t me = segment_->self().rank;
  const Piece part = piece(chunk);
  const std::byte* const from = segment_->scratch(scratch);
  for (std::uint32_t rank = 0; rank < segment_->self().ranks; ++rank) {
    const bool has_it = request_.kind == Kind::broadcast && rank == request_.root;
    if (!takes_part(present, rank) || has_it) continue;
    const bool straight_out = rank == me && is_copied_;
    if (straight_out)
      copy(from, request_.data + part.offset, part.bytes, is_large());
    else
      copy(from, data_of(rank, part), part.bytes);
  }
  collected_[chunk] = true;
}

void BucketWork::collect(std::uint32_t chunk) {
  if (!is_copied_ || collected_[chunk]) return;
  collected_[chunk] = true;
  if (request_.kind == Kind::broadcast && request_.root == segment_->self().rank) return;
  const Piece part = piece(chunk);
  copy(data_of(segment_->self().rank, part), request_.data + part.offset, part.bytes, is_large());
}

}  // namespace headroom::averager
