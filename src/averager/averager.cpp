// SPDX-License-Identifier: Apache-2.0
#include "averager/averager.h"

#include <fmt/format.h>

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
    next_ = reduced_ = joining.admitted_by().bucket + 1;
    const MutexLock lock(mutex_);
    started_ = finished_ = next_;
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
  if (request.elements > most)
    return Error{
        Errc::out_of_memory,
        fmt::format("expected at most {} elements, which fill the arena of {}, found {}", most,
                    to_string(Bytes{segment_.terms().arena_bytes}), request.elements),
        "make arena_bytes larger, for all ranks"};
  if (request.data == nullptr && request.elements != 0)
    return Error{Errc::invalid, "expected data, found a null pointer", ""};
  if (reinterpret_cast<std::uintptr_t>(request.data) % bytes_of(request.type) != 0)
    return Error{Errc::invalid, "expected data that are aligned as their type asks", ""};
  return Done{};
}

// Where the data are in the arena, or are copied to.
Result<std::uint64_t> Averager::place_of(const Request& request, bool& is_copied) {
  is_copied = false;
  if (request.elements == 0) return std::uint64_t{0};
  const std::byte* const arena = segment_.arena(rank());
  const auto offset = static_cast<std::uint64_t>(request.data - arena);
  if (request.data >= arena && arena_.holds(offset, request.bytes())) return offset;
  is_copied = true;
  HEADROOM_TRY(const std::byte* const staging, allocate(request.bytes()));
  return static_cast<std::uint64_t>(staging - arena);
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
  if (one.work)
    return Error{
        Errc::busy,
        fmt::format("expected at most {} buckets in flight, found one more", segment_.self().slots),
        "wait for the oldest first, or make in_flight larger, for all ranks"};
  if (next_ >= protocol::last_bucket)
    return Error{Errc::unsupported,
                 fmt::format("expected at most {} buckets in one job", protocol::last_bucket),
                 "start the job again from a checkpoint"};
  bool is_copied = false;
  HEADROOM_TRY(const std::uint64_t offset, place_of(request, is_copied));
  one.work.emplace(segment_, next_, request, offset, is_copied);
  protocol::Arrival arrival(segment_.self(), next_);
  if (auto brought = driver_.bring(arrival, *one.work); !brought)
    return broken(std::move(brought).error());
  const Ticket ticket = next_++;
  const MutexLock lock(mutex_);
  started_ = next_;
  changed_.notify_one();
  return ticket;
}

void Averager::reduce_next() {
  Flight& one = flight(reduced_);
  BucketWork& work = *one.work;
  protocol::Reduction reduction(segment_.self(), reduced_, expected_,
                                work.request().kind == Kind::step);
  const auto policy = static_cast<Policy>(segment_.terms().policy);
  one.error = failure();
  if (one.error) {
    // Nothing touches the segment any more.
  } else if (auto status = driver_.reduce(reduction, work, policy); !status) {
    one.error = broken(std::move(status).error());
  } else {
    const protocol::Decision& decision = reduction.decision();
    one.outcome = {.present = decision.present,
                   .lost = static_cast<protocol::RankMask>(expected_ & ~decision.present),
                   .joined = static_cast<protocol::RankMask>(decision.next & ~decision.present)};
    one.error = work.verdict();
    expected_ = decision.next;
  }
  ++reduced_;
  const MutexLock lock(mutex_);
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
  const auto bucket = static_cast<protocol::Bucket>(ticket);
  Flight& one = flight(bucket);
  if (ticket >= next_ || !one.work || one.work->bucket() != bucket)
    return Error{Errc::invalid, "expected the ticket of a bucket in flight, found another", ""};
  if (worker_.joinable()) {
    const MutexLock lock(mutex_);
    while (finished_ <= bucket) done_.wait(mutex_);
  } else {
    while (reduced_ <= bucket) reduce_next();
  }
  if (one.work->is_copied()) arena_.give_back(one.work->offset());
  one.work.reset();
  if (one.error) return *std::exchange(one.error, std::nullopt);
  return one.outcome;
}

}  // namespace headroom::averager
