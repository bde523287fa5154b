// SPDX-License-Identifier: Apache-2.0
// How the throughput of one allocator grows with threads, each of which replays the whole trace on
// a stream of its own: one line of JSON. Rounds with one, two and four threads alternate, so that a
// busy machine is busy for all; the best round of each counts. "scaling" is of wall time, which
// other programs on the machine lower. "processor_scaling" counts only the processor time that the
// threads took: it shows what they cost each other (cache lines, locks) and not who else runs.
//   --backend host        real pages: needs free memory for seven times the trace's peak
//   --backend simulated   pages that are only counted
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "allocator/backends/host.h"
#include "allocator/headroom/headroom_allocator.h"
#include "allocator/simulated_backend.h"
#include "event_times.h"
#include "replay_options.h"

namespace headroom::bench {
namespace {

constexpr std::array<unsigned, 3> thread_counts = {1, 2, 4};

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Speed {  // Events of all threads for each second …
  double wall = 0;
  double processor = 0;  // … if each had had a processor for itself.
};

// Some threads on an allocator, which stays warm from round to round.
class Team {
 public:
  Team(const allocator::Trace& trace, std::unique_ptr<allocator::Backend> backend,
       std::uint64_t capacity, unsigned threads)
      : trace_(trace), threads_(threads), allocator_(std::move(backend), capacity) {}

  // Nothing if an event was refused.
  std::optional<Speed> replay(int times) {
    std::vector<double> processor_s(threads_);
    // By the threads' own clocks: on a busy machine who started them may look late.
    std::vector<double> began(threads_);
    std::vector<double> ended(threads_);
    std::barrier start(static_cast<std::ptrdiff_t>(threads_));
    std::vector<std::thread> threads;
    std::vector<char> good(threads_, 1);
    for (unsigned i = 0; i < threads_; ++i) {
      threads.emplace_back([&, i] {
        std::vector<allocator::Address> addresses(trace_.objects);
        start.arrive_and_wait();
        began[i] = seconds(CLOCK_MONOTONIC);
        const double before = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (int time = 0; time < times && good[i] != 0; ++time)
          good[i] = replay_once(i, addresses) ? 1 : 0;
        processor_s[i] = seconds(CLOCK_THREAD_CPUTIME_ID) - before;
        ended[i] = seconds(CLOCK_MONOTONIC);
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double wall_s = *std::max_element(ended.begin(), ended.end()) -
                          *std::min_element(began.begin(), began.end());
    if (std::count(good.begin(), good.end(), 0) > 0) return std::nullopt;
    const double events = static_cast<double>(trace_.events.size()) * times;
    Speed speed{events * threads_ / wall_s, 0};
    for (const double each : processor_s) speed.processor += events / each;
    return speed;
  }

 private:
  bool replay_once(allocator::StreamId stream, std::vector<allocator::Address>& addresses) {
    for (const allocator::Event& event : trace_.events) {
      if (event.kind == allocator::EventKind::allocate) {
        const auto address = allocator_.allocate({event.bytes, event.tag, stream});
        if (!address) return false;
        addresses[event.object] = *address;
      } else if (event.kind == allocator::EventKind::free) {
        allocator_.free(addresses[event.object]);
      }
    }
    return true;
  }

  const allocator::Trace& trace_;
  unsigned threads_;
  allocator::HeadroomAllocator allocator_;
};

std::unique_ptr<allocator::Backend> make_backend(const std::string& name) {
  if (name == "simulated") return std::make_unique<allocator::SimulatedBackend>();
  auto host = allocator::HostBackend::create();
  if (host) return *std::move(host);
  fmt::print(stderr, "{}\n", host.error().message);
  return nullptr;
}

int run(const allocator::Trace& trace, const Options& options) {
  const auto capacity = read_size(options.at("--capacity"));
  const auto rounds = parse_u64(options.at("--rounds"));
  const auto repeat = parse_u64(options.at("--repeat"));
  if (!capacity || !rounds || !repeat || *rounds > 1000 || *repeat > 1000) return 2;
  std::vector<std::unique_ptr<Team>> teams;
  for (const unsigned threads : thread_counts) {
    auto backend = make_backend(options.at("--backend"));
    if (!backend) return 3;
    teams.push_back(std::make_unique<Team>(trace, std::move(backend), *capacity, threads));
    for (int i = 0; i < 3; ++i) {
      if (teams.back()->replay(1)) continue;
      fmt::print(stderr, "the trace does not fit {} times; give more --capacity\n", threads);
      return 1;
    }
  }
  std::array<Speed, thread_counts.size()> best;
  for (std::uint64_t round = 0; round < *rounds; ++round) {
    for (std::size_t i = 0; i < teams.size(); ++i) {
      const Speed speed = teams[i]->replay(static_cast<int>(*repeat)).value_or(Speed{});
      best[i].wall = std::max(best[i].wall, speed.wall);
      best[i].processor = std::max(best[i].processor, speed.processor);
    }
  }
  fmt::print(R"({{"cores": {}, "million_events_per_s": [{:.2f}, {:.2f}, {:.2f}], )"
             R"("scaling_2": {:.3f}, "scaling_4": {:.3f}, )"
             R"("processor_scaling_2": {:.3f}, "processor_scaling_4": {:.3f}}})"
             "\n",
             std::thread::hardware_concurrency(), best[0].wall / 1e6, best[1].wall / 1e6,
             best[2].wall / 1e6, best[1].wall / best[0].wall, best[2].wall / best[0].wall,
             best[1].processor / best[0].processor, best[2].processor / best[0].processor);
  return 0;
}

}  // namespace
}  // namespace headroom::bench

int main(int argc, char** argv) {
  using namespace headroom::bench;
  const auto options = read_options(
      argc, argv,
      {{"--backend", "simulated"}, {"--capacity", "64TiB"}, {"--rounds", "10"}, {"--repeat", "5"}});
  if (!options) return 2;
  const auto trace = read_trace(argv[1]);
  return trace ? run(closed(*trace), *options) : 2;
}
