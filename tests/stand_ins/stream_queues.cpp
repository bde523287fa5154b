// SPDX-License-Identifier: Apache-2.0
#include "stand_ins/stream_queues.h"

#include <utility>

namespace headroom::stand_ins {

StreamNumber StreamQueues::create(bool is_blocking) {
  queues_[++last_stream_].is_blocking = is_blocking;
  return last_stream_;
}

void StreamQueues::push(StreamNumber stream, Work work, std::vector<Point> after) {
  queues_.at(stream).pieces.push_back({++last_order_, std::move(work), std::move(after)});
}

void StreamQueues::add(StreamNumber stream, Work work) {
  if (const auto capture = captured_.find(stream); capture != captured_.end()) {
    captures_.at(capture->second).push_back(std::move(work));
    return;
  }
  std::vector<Point> after;
  if (stream == null_stream) {
    for (const auto& [number, queue] : queues_)
      if (queue.is_blocking && !queue.pieces.empty()) after.push_back(now(number));
  } else if (queues_.at(stream).is_blocking) {
    after.push_back(now(null_stream));
  }
  push(stream, std::move(work), std::move(after));
}

void StreamQueues::wait_for(StreamNumber stream, const Point& point) {
  if (point.capture != 0) {
    if (captures_.contains(point.capture)) captured_[stream] = point.capture;
    return;
  }
  if (!is_done(point)) push(stream, [] {}, {point});
}

Point StreamQueues::now(StreamNumber stream) const {
  const Queue& queue = queues_.at(stream);
  return {stream, queue.done + queue.pieces.size(), capture_of(stream)};
}

bool StreamQueues::is_done(const Point& point) const {
  return point.capture != 0 || queues_.at(point.stream).done >= point.count;
}

std::map<StreamNumber, std::uint64_t> StreamQueues::needed_for(const Point& point) const {
  std::map<StreamNumber, std::uint64_t> needed;
  std::vector<Point> todo = {point};
  while (!todo.empty()) {
    const Point next = todo.back();
    todo.pop_back();
    const Queue& queue = queues_.at(next.stream);
    std::uint64_t& count = needed.try_emplace(next.stream, queue.done).first->second;
    for (; count < next.count; ++count) {
      const auto& after = queue.pieces.at(count - queue.done).after;
      todo.insert(todo.end(), after.begin(), after.end());
    }
  }
  return needed;
}

void StreamQueues::run_needed(const std::map<StreamNumber, std::uint64_t>& needed) {
  for (;;) {
    Queue* first = nullptr;
    for (const auto& [stream, count] : needed) {
      Queue& queue = queues_.at(stream);
      if (queue.done >= count) continue;
      if (first == nullptr || queue.pieces.front().order < first->pieces.front().order)
        first = &queue;
    }
    if (first == nullptr) return;
    const Work work = std::move(first->pieces.front().work);
    first->pieces.pop_front();
    ++first->done;
    work();
  }
}

void StreamQueues::run(const Point& point) {
  if (point.capture == 0) run_needed(needed_for(point));
}

void StreamQueues::run_all() {
  std::vector<StreamNumber> streams;
  for (const auto& [stream, queue] : queues_) streams.insert(streams.begin(), stream);
  for (const StreamNumber stream : streams) {
    const std::uint64_t count = queues_.at(stream).done + queues_.at(stream).pieces.size();
    run_needed(needed_for({stream, count}));
  }
}

std::size_t StreamQueues::queued() const {
  std::size_t count = 0;
  for (const auto& [stream, queue] : queues_) count += queue.pieces.size();
  return count;
}

std::uint64_t StreamQueues::begin_capture(StreamNumber stream) {
  if (captured_.contains(stream)) return 0;
  captures_[++last_capture_] = {};
  captured_[stream] = last_capture_;
  return last_capture_;
}

std::uint64_t StreamQueues::capture_of(StreamNumber stream) const {
  const auto found = captured_.find(stream);
  return found == captured_.end() ? 0 : found->second;
}

std::vector<StreamQueues::Work> StreamQueues::end_capture(std::uint64_t capture) {
  std::erase_if(captured_, [&](const auto& each) { return each.second == capture; });
  std::vector<Work> work = std::move(captures_[capture]);
  captures_.erase(capture);
  return work;
}

}  // namespace headroom::stand_ins
