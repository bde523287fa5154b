// SPDX-License-Identifier: Apache-2.0
// Pieces of something large, each done by itself, on every core.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace headroom::trainer::data {

// Calls do_piece(0) … do_piece(count − 1), in any order and several at the same time, and returns
// when all have ended. Throws what one of them threw.
template <class DoPiece>
void do_pieces(std::size_t count, const DoPiece& do_piece) {
  std::atomic<std::size_t> next = 0;
  const auto do_those_left = [&] {
    for (std::size_t piece = next++; piece < count; piece = next++) do_piece(piece);
  };
  std::vector<std::future<void>> workers;
  const std::size_t threads = std::min<std::size_t>(count, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < threads; ++i)
    workers.push_back(std::async(std::launch::async, do_those_left));
  do_those_left();
  for (std::future<void>& worker : workers) worker.get();
}

}  // namespace headroom::trainer::data
