// SPDX-License-Identifier: Apache-2.0
// One rank of a job whose processes average buckets through shared memory. All ranks start the same
// buckets in the same order; several may be in flight. One thread calls at a time; with
// `background` another one, the averager's own, does the work meanwhile.
//
// A bucket in pieces is one bucket of the protocol after another, so small that what is copied and
// summed of it stays in the processor's caches: of 16 MiB and more that are copied it takes a third
// less time (docs/measurements.md). Then a rank that is lost on the way has a part in the pieces
// before, and in none after.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "averager/arena.h"
#include "averager/driver.h"
#include "averager/watch_thread.h"
#include "base/mutex.h"
#include "base/result.h"

namespace headroom::averager {

// Makes memory known to a device before it is used, and takes that back: hipHostRegister and
// hipHostUnregister.
struct Pinning {
  std::function<Status(std::byte* memory, std::uint64_t bytes)> pin;
  std::function<void(std::byte* memory)> unpin;
};

struct Options {
  FilePlace place;
  Terms terms;
  std::uint32_t rank = 0;
  std::uint32_t meet_ms = 60'000;  // For the others to come, or to reach the border of a step.
  WatchTimes times;
  bool background = false;
  Pinning pinning;
  std::shared_ptr<SharedMapping> mapping;  // Only where other ranks are threads of this process.
};

class Averager {
 public:
  using Ticket = std::uint64_t;

  // Waits for the others. A rank that comes back waits for the border of a step.
  static Result<std::unique_ptr<Averager>> open(const Options& options);
  ~Averager();
  Averager(const Averager&) = delete;
  Averager& operator=(const Averager&) = delete;

  // Memory of the segment: buckets in it are averaged where they are. It is aligned to pages and
  // lives until it is freed or the averager ends.
  Result<std::byte*> allocate(std::uint64_t bytes);
  Status free(const std::byte* memory);

  // Starts a bucket. Its data belong to the averager until wait(): they must not be read or
  // written. Fails with busy if as many as possible are in flight. Of a bucket in pieces others can
  // work on the first alone until this rank does.
  Result<Ticket> start(const Request& request);
  // Returns when the bucket's data are the result. Each ticket is waited for once.
  Result<Outcome> wait(Ticket ticket);

  // What ranks do in memory that they have allocated, beside buckets (averager/streams.h): another
  // rank's arena, the bell that says that something in one changed, and a wait that returns when
  // `is_ready`, which is asked again whenever it rings. It fails with io if a rank has died or left
  // meanwhile, and ends a `peer` that is late, as a wait for a bucket does.
  std::byte* arena(std::uint32_t rank) const { return segment_.arena(rank); }
  void ring() const { segment_.bell().ring(); }
  Status wait_for(std::uint32_t peer, const std::function<bool()>& is_ready);

  std::uint32_t rank() const { return segment_.self().rank; }
  std::uint32_t ranks() const { return segment_.self().ranks; }
  bool has_come_back() const { return segment_.has_come_back(); }
  // The ranks that take part in the next bucket. Requires: none is in flight.
  protocol::RankMask expected() const { return expected_; }

 private:
  // A bucket of the caller's between start() and wait().
  struct Flight {
    std::optional<Ticket> ticket;  // None: free.
    Request request;
    BucketWork::Place place;
    std::uint64_t piece_elements = 0;
    std::uint64_t begun_elements = 0;  // Of the piece at work and those before.
    std::optional<BucketWork> work;    // The piece at work. None: it is still to be brought.
    Outcome outcome;
    std::optional<Error> error;
    bool is_brought() const { return begun_elements == request.elements && work; }
  };

  Averager(Segment segment, const Options& options);
  Status begin(const Options& options);
  std::uint64_t piece_elements(const Request& request) const;
  Result<BucketWork::Place> place_of(const Request& request, std::uint64_t piece_bytes);
  Status check(const Request& request) const;
  Flight& flight(Ticket ticket) { return flights_.at(ticket % segment_.self().slots); }
  Status bring_next(Flight& one);
  Status reduce_piece(Flight& one);
  void reduce_next();
  void work_until_end();
  // Keeps the error, with which everything fails from now on.
  Error broken(Error error);
  std::optional<Error> failure();

  Segment segment_;
  Pinning pinning_;
  bool is_pinned_ = false;
  PeerWatch watch_;
  Driver driver_;
  Arena arena_;
  std::optional<WatchThread> watch_thread_;

  Ticket next_ = 0;                  // To be started. The caller's.
  Ticket reduced_ = 0;               // To be reduced next. Whoever reduces.
  protocol::Bucket bucket_ = 0;      // To be brought next. Whoever brings: see start().
  protocol::RankMask expected_ = 0;  // For the one that is reduced next.
  std::array<Flight, protocol::max_slots> flights_;

  Mutex mutex_;
  ConditionVariable
      changed_;  // For the worker: something to do. For the caller: something is done.
  ConditionVariable done_;
  Ticket started_ HEADROOM_GUARDED_BY(mutex_) = 0;
  Ticket brought_ HEADROOM_GUARDED_BY(mutex_) = 0;  // To the last piece.
  Ticket finished_ HEADROOM_GUARDED_BY(mutex_) = 0;
  bool ends_ HEADROOM_GUARDED_BY(mutex_) = false;
  std::optional<Error> broken_ HEADROOM_GUARDED_BY(mutex_);
  std::thread worker_;
};

}  // namespace headroom::averager
