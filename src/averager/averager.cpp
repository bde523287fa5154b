// SPDX-License-Identifier: Apache-2.0
#include "averager/averager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "averager/terms.h"
#include "base/bytes.h"

namespace headroom::averager {

Averager::Averager(Segment segment, const Options& options)
    : segment_(std::move(segment)),
      pinning_(options.pinning),
      watch_(segment_, options.times),
      driver_(segment_, watch_, options.times),
      arena_(options.terms.arena_bytes),
      expected_(protocol::all_of(options.terms.ranks)) {}

Result<std::unique_ptr<Averager>> Averager::open(const Options& options) {
  HEADROOM_CHECK(check_terms(options.terms, options.rank));
  HEADROOM_TRY(Segment segment,
               Segment::open(options.place, options.terms, options.rank, options.mapping.get()));
  std::unique_ptr<Averager> averager(new Averager(std::move(segment), options));
  HEADROOM_CHECK(averager->begin(options));
  return averager;
}

Status Averager::begin(const Options& options) {
  if (pinning_.pin) {
    HEADROOM_CHECK(pinning_.pin(segment_.base(), segment_.bytes()));
    is_pinned_ = true;
  }
  watch_thread_.emplace(watch_, options.times);
  if (segment_.has_come_back()) {
    protocol::Joining joining(segment_.self());
    HEADROOM_CHECK(driver_.join(joining, options.meet_ms));
    expected_ = joining.admitted_by().next;
    bucket_ = joining.admitted_by().bucket + 1;
  } else {
    HEADROOM_CHECK(driver_.meet(options.meet_ms));
  }
  if (options.background) worker_ = std::thread([this] { work_until_end(); });
  return Done{};
}

Averager::~Averager() {
  driver_.stop();
  if (worker_.joinable()) {
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      changed_.notify_one();
    }
    worker_.join();
  }
  watch_thread_.reset();
  if (is_pinned_ && pinning_.unpin) pinning_.unpin(segment_.base());
}

Result<std::byte*> Averager::allocate(std::uint64_t bytes) {
  if (const auto offset = arena_.take(bytes)) return segment_.arena(rank()) + *offset;
  return Error{Errc::out_of_memory,
               fmt::format("expected {} in one piece of this rank's arena of {}, found {}",
                           to_string(Bytes{bytes}), to_string(Bytes{segment_.terms().arena_bytes}),
                           to_string(Bytes{arena_.largest_free()})),
               "make arena_bytes larger, for all ranks"};
}

Status Averager::free(const std::byte* memory) {
  const std::byte* const arena = segment_.arena(rank());
  if (memory >= arena && memory < arena + segment_.terms().arena_bytes &&
      arena_.give_back(static_cast<std::uint64_t>(memory - arena)))
    return Done{};
  return Error{Errc::invalid, "expected memory from allocate(), found another pointer", ""};
}

Status Averager::wait_for(std::uint32_t peer, const std::function<bool()>& is_ready) {
  return driver_.wait_for(peer, is_ready);
}

Status Averager::check(const Request& request) const {
  const bool is_step = request.kind == Kind::step;
  if (is_step && request.elements == 0) return Done{};
  if (request.kind > Kind::step || request.type > ElementType::bfloat16 ||
      request.root >= ranks() || is_step)
    return Error{
        Errc::invalid,
        fmt::format("expected a kind up to 3, a type up to 1, a root below {} and no data "
                    "at a step's border, found {}, {}, {} and {} elements",
                    ranks(), static_cast<std::uint32_t>(request.kind),
                    static_cast<std::uint32_t>(request.type), request.root, request.elements),
        "include/headroom/averager.h names them"};
  const std::uint64_t most = segment_.terms().arena_bytes / bytes_of(request.type);
  const std::uint64_t piece = piece_elements(request);
  const bool is_whole = piece == request.elements;
  if (piece > most)
    return Error{Errc::out_of_memory,
                 fmt::format("expected at most {} elements{}, which fill the arena of {}, found {}",
                             most, is_whole ? "" : " in a piece",
                             to_string(Bytes{segment_.terms().arena_bytes}), piece),
                 "make arena_bytes larger, for all ranks"};
  if (request.data == nullptr && request.elements != 0)
    return Error{Errc::invalid, "expected data, found a null pointer", ""};
  if (reinterpret_cast<std::uintptr_t>(request.data) % bytes_of(request.type) != 0)
    return Error{Errc::invalid, "expected data that are aligned as their type asks", ""};
  return Done{};
}

// Large enough that agreeing on it takes little of the time, and so small that what all ranks copy
// and sum of it is in the caches that they share.
std::uint64_t Averager::piece_elements(const Request& request) const {
  const bool is_sum = request.kind == Kind::average || request.kind == Kind::sum;
  const bool can_be_mixed = static_cast<Policy>(segment_.terms().policy) == Policy::finish;
  if (!request.in_pieces || !is_sum || !can_be_mixed) return request.elements;
  constexpr std::uint64_t least_chunks = 4;
  const std::uint64_t chunks = std::max<std::uint64_t>(least_chunks, std::uint64_t{2} * ranks());
  const std::uint64_t bytes = chunks * segment_.terms().chunk_bytes;
  return std::min(request.elements, bytes / bytes_of(request.type));
}

// Where the data are in the arena, or a piece of them is copied to.
Result<BucketWork::Place> Averager::place_of(const Request& request, std::uint64_t piece_bytes) {
  if (request.elements == 0) return BucketWork::Place{};
  const std::byte* const arena = segment_.arena(rank());
  const auto offset = static_cast<std::uint64_t>(request.data - arena);
  if (request.data >= arena && arena_.holds(offset, request.bytes()))
    return BucketWork::Place{.offset = offset, .is_copied = false};
  HEADROOM_TRY(const std::byte* const staging, allocate(piece_bytes));
  return BucketWork::Place{.offset = static_cast<std::uint64_t>(staging - arena),
                           .is_copied = true};
}

Error Averager::broken(Error error) {
  const MutexLock lock(mutex_);
  if (!broken_) broken_ = std::move(error);
  return *broken_;
}

std::optional<Error> Averager::failure() {
  const MutexLock lock(mutex_);
  return broken_;
}

Result<Averager::Ticket> Averager::start(const Request& request) {
  HEADROOM_CHECK(check(request));
  if (auto before = failure()) return *std::move(before);
  Flight& one = flight(next_);
  if (one.ticket)
    return Error{
        Errc::busy,
        fmt::format("expected at most {} buckets in flight, found one more", segment_.self().slots),
        "wait for the oldest first, or make in_flight larger, for all ranks"};
  const std::uint64_t piece = piece_elements(request);
  HEADROOM_TRY(const BucketWork::Place place, place_of(request, piece * bytes_of(request.type)));
  one = Flight();
  one.ticket = next_;
  one.request = request;
  one.place = place;
  one.piece_elements = piece;
  bool is_first = false;
  {
    const MutexLock lock(mutex_);
    is_first = brought_ == next_;
  }
  // Behind a bucket of which pieces are still to be brought, whoever reduces brings this one too.
  // Until it has, nobody else brings any, since it does not know of one more before `started_`.
  if (is_first) {
    HEADROOM_CHECK(bring_next(one));
  }
  const Ticket ticket = next_++;
  const MutexLock lock(mutex_);
  if (is_first && one.is_brought()) brought_ = next_;
  started_ = next_;
  changed_.notify_one();
  return ticket;
}

// The bucket's next piece becomes the one at work.
Status Averager::bring_next(Flight& one) {
  if (bucket_ >= protocol::last_bucket)
    return broken({Errc::unsupported,
                   fmt::format("expected at most {} buckets in one job", protocol::last_bucket),
                   "start the job again from a checkpoint"});
  const std::uint64_t begin = one.begun_elements * bytes_of(one.request.type);
  Request piece = one.request;
  piece.elements = std::min(one.piece_elements, one.request.elements - one.begun_elements);
  if (piece.elements != 0) piece.data += begin;
  BucketWork::Place place = one.place;
  if (!place.is_copied) place.offset += begin;
  one.work.emplace(segment_, bucket_, piece, one.request.elements, place);
  protocol::Arrival arrival(segment_.self(), bucket_);
  if (auto brought = driver_.bring(arrival, *one.work); !brought)
    return broken(std::move(brought).error());
  one.begun_elements += piece.elements;
  ++bucket_;
  return Done{};
}

Status Averager::reduce_piece(Flight& one) {
  BucketWork& work = *one.work;
  protocol::Reduction reduction(segment_.self(), work.bucket(), expected_,
                                work.request().kind == Kind::step);
  const auto policy = static_cast<Policy>(segment_.terms().policy);
  if (auto status = driver_.reduce(reduction, work, policy); !status)
    return broken(std::move(status).error());
  const protocol::Decision& decision = reduction.decision();
  const bool is_first = one.begun_elements <= one.piece_elements;
  Outcome& outcome = one.outcome;
  outcome.present = is_first ? decision.present
                             : static_cast<protocol::RankMask>(outcome.present & decision.present);
  outcome.lost |= static_cast<protocol::RankMask>(expected_ & ~decision.present);
  outcome.joined |= static_cast<protocol::RankMask>(decision.next & ~decision.present);
  expected_ = decision.next;
  if (work.verdict()) return *work.verdict();
  return Done{};
}

void Averager::reduce_next() {
  Flight& one = flight(reduced_);
  one.error = failure();  // Then nothing touches the segment any more.
  bool has_more = true;
  while (!one.error && has_more) {
    if (!one.work) {
      if (auto status = bring_next(one); !status) one.error = std::move(status).error();
    }
    if (!one.error) {
      if (auto status = reduce_piece(one); !status) one.error = std::move(status).error();
    }
    has_more = one.begun_elements < one.request.elements;
    if (has_more) one.work.reset();
  }
  ++reduced_;
  const MutexLock lock(mutex_);
  brought_ = std::max(brought_, reduced_);
  finished_ = reduced_;
  done_.notify_one();
}

void Averager::work_until_end() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!ends_ && started_ == finished_) changed_.wait(mutex_);
      if (ends_) return;
    }
    reduce_next();
  }
}

Result<Outcome> Averager::wait(Ticket ticket) {
  Flight& one = flight(ticket);
  if (ticket >= next_ || one.ticket != ticket)
    return Error{Errc::invalid, "expected the ticket of a bucket in flight, found another", ""};
  if (worker_.joinable()) {
    const MutexLock lock(mutex_);
    while (finished_ <= ticket) done_.wait(mutex_);
  } else {
    while (reduced_ <= ticket) reduce_next();
  }
  if (one.place.is_copied) arena_.give_back(one.place.offset);
  one.work.reset();
  one.ticket.reset();
  if (one.error) return *std::exchange(one.error, std::nullopt);
  return one.outcome;
}

}  // namespace headroom::averager
