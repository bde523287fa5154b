// SPDX-License-Identifier: Apache-2.0
// Work that a GPU's streams have been given and have not done yet. Nothing runs until somebody
// waits for it, and then only what must have run by then: the laziest GPU that keeps CUDA's
// promises, so that whoever uses memory too early meets the work that still comes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace headroom::stand_ins {

using StreamNumber = std::uint64_t;
inline constexpr StreamNumber null_stream = 0;

// The first `count` pieces of work that a stream was ever given.
struct Point {
  StreamNumber stream = null_stream;
  std::uint64_t count = 0;
  std::uint64_t capture = 0;  // If not 0: a place in this capture, which no waiting reaches.
};

// Not thread-safe.
class StreamQueues {
 public:
  using Work = std::function<void()>;

  // A blocking stream waits for what the null stream has, and the null stream for what it has, as
  // cudaStreamCreateWithFlags() of CUDA's documentation says. Null is there from the beginning.
  StreamNumber create(bool is_blocking);

  void add(StreamNumber stream, Work work);
  // What the stream is given from now on waits for the point. If the point lies in a capture, the
  // stream joins the capture.
  void wait_for(StreamNumber stream, const Point& point);
  // Where everything is done that the stream was given so far.
  Point now(StreamNumber stream) const;

  bool is_done(const Point& point) const;
  // Does what lies before the point, and what that waits for, in the order in which it was given.
  void run(const Point& point);
  // Does everything: one stream to its end, then the next, the youngest first. Whoever relied on
  // the order in which streams were given work is found out.
  void run_all();
  std::size_t queued() const;

  // From begin to end, work goes to the capture instead. Returns the capture's number, or 0 if the
  // stream is being captured already.
  std::uint64_t begin_capture(StreamNumber stream);
  // The capture of a stream; 0: it is not being captured.
  std::uint64_t capture_of(StreamNumber stream) const;
  // What was captured, in order, from all streams that joined.
  std::vector<Work> end_capture(std::uint64_t capture);

 private:
  struct Piece {
    std::uint64_t order = 0;  // Pieces of all streams are numbered.
    Work work;
    std::vector<Point> after;
  };
  struct Queue {
    bool is_blocking = false;
    std::uint64_t done = 0;
    std::deque<Piece> pieces;
  };

  void push(StreamNumber stream, Work work, std::vector<Point> after);
  // How many pieces of each stream must have run, so that the point is reached.
  std::map<StreamNumber, std::uint64_t> needed_for(const Point& point) const;
  void run_needed(const std::map<StreamNumber, std::uint64_t>& needed);

  std::map<StreamNumber, Queue> queues_ = {{null_stream, {}}};
  std::map<StreamNumber, std::uint64_t> captured_;  // Stream → capture.
  std::map<std::uint64_t, std::vector<Work>> captures_;
  StreamNumber last_stream_ = null_stream;
  std::uint64_t last_order_ = 0;
  std::uint64_t last_capture_ = 0;
};

}  // namespace headroom::stand_ins
