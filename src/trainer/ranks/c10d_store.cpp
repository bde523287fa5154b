// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/c10d_store.h"

#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <optional>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/text.h"
#include "base/version.h"
#include "trainer/ranks/local_address.h"

namespace headroom::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::string where(const RankPlace& place) {
  return fmt::format("{} port {}", place.rendezvous->host, place.rendezvous->port);
}

// One try. Throws what c10d throws.
StorePtr open_store(const RankPlace& place, bool keeps, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = place.rendezvous->port;
  options.isServer = keeps;
  options.waitWorkers = false;
  options.timeout = timeout;
  const auto store = c10::make_intrusive<c10d::TCPStore>(place.rendezvous->host, options);
  return c10::make_intrusive<c10d::PrefixStore>(fmt::format("headroom/{}", place.rendezvous->tried),
                                                store);
}

Error stopped() {
  return {Errc::io, "stopped by request, before all ranks were there", "start them again"};
}

// Waits as long as it may for something, and says so once.
class Patience {
 public:
  Patience(std::chrono::seconds longest, Observer& observer)
      : until_(Clock::now() + longest), observer_(observer) {}

  // False if there is no more time.
  bool wait(const std::function<std::string()>& for_what) {
    constexpr auto look = 50ms;
    constexpr auto patience = 5s;
    if (Clock::now() >= until_) return false;
    if (!told_ && Clock::now() - begun_ > patience) {
      observer_.on_note("waiting for " + for_what());
      told_ = true;
    }
    std::this_thread::sleep_for(look);
    return true;
  }

 private:
  Clock::time_point begun_ = Clock::now();
  Clock::time_point until_;
  Observer& observer_;
  bool told_ = false;
};

Result<StorePtr> keep_store(const RankPlace& place) {
  constexpr auto timeout = 30s;
  try {
    return open_store(place, true, timeout);
  } catch (const std::exception& error) {
    return Error{
        Errc::io,
        fmt::format("rank 0 could not listen at {}: {}", where(place), what_c10d_says(error)),
        "set HEADROOM_MASTER_PORT to a free port, the same for all ranks; MASTER_ADDR is "
        "the machine of rank 0"};
  }
}

Result<StorePtr> reach_store(const RankPlace& place, Patience& patience, Observer& observer) {
  constexpr auto once = 2s;
  while (true) {
    std::string why;
    try {
      return open_store(place, false, once);
    } catch (const std::exception& error) {
      why = what_c10d_says(error);
    }
    if (observer.wants_stop()) return stopped();
    if (!patience.wait([&] { return "rank 0 at " + where(place); }))
      return Error{Errc::io, fmt::format("rank 0 was not reached at {}: {}", where(place), why),
                   "see whether it runs, and whether a firewall is between the machines"};
  }
}

std::string key_of(std::uint32_t rank) {
  return fmt::format("rank/{}", rank);
}

std::string list_missing(c10d::Store& store, std::uint32_t ranks) {
  std::vector<std::string> missing;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!store.check({key_of(rank)})) missing.push_back(std::to_string(rank));
  }
  return fmt::format("rank{} {}", missing.size() == 1 ? "" : "s", join(missing, ", "));
}

// Says who this is, and hears who the others are: of each its description, in the order of ranks.
Result<std::vector<std::string>> introduce(c10d::Store& store, const RankPlace& place,
                                           const std::string& own, Patience& patience,
                                           Observer& observer) {
  if (store.add("claim/" + key_of(place.rank), 1) > 1)
    return Error{Errc::invalid,
                 fmt::format("expected one process to be rank {}, found another one that says so",
                             place.rank),
                 "end what is left of an earlier start, or see to the launcher's RANK"};
  store.set(key_of(place.rank), std::vector<std::uint8_t>(own.begin(), own.end()));
  std::vector<std::string> keys;
  for (std::uint32_t rank = 0; rank < place.ranks; ++rank) keys.push_back(key_of(rank));
  while (!store.check(keys)) {
    if (observer.wants_stop()) return stopped();
    const auto missing = [&] { return list_missing(store, place.ranks); };
    if (!patience.wait(missing))
      return Error{Errc::io, fmt::format("{} did not come", missing()),
                   "see what the launcher says of them"};
  }
  std::vector<std::string> told;
  for (const std::string& key : keys) {
    const std::vector<std::uint8_t> text = store.get(key);
    told.emplace_back(text.begin(), text.end());
  }
  return told;
}

// A description is the job, and behind a line break the address.
Status compare(const std::vector<std::string>& told, const RankPlace& place) {
  const auto job_of = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  const auto is_here = [](const std::string& text) {
    return is_loopback(text.substr(text.find('\n') + 1));
  };
  for (std::uint32_t rank = 0; rank < told.size(); ++rank) {
    if (job_of(told[rank]) != job_of(told[place.rank]))
      return Error{Errc::invalid,
                   fmt::format("expected rank {} to be of the same job, with the same settings and "
                               "the same headroom, found another",
                               rank),
                   "give all ranks the same job file, number of ranks and options"};
    if (is_here(told[rank]) != is_here(told[place.rank]))
      return Error{Errc::invalid,
                   fmt::format("MASTER_ADDR={}: expected to reach rank 0 by a network, found it to "
                               "be this machine's own address for some ranks and not for all",
                               place.rendezvous->host),
                   "set it to the address of the machine of rank 0 in the network of the others"};
  }
  return Done{};
}

}  // namespace

std::string what_c10d_says(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

// c10d also logs what it throws, once for each try to reach a rank 0 that is on its way.
void log_nothing() {
#ifdef C10_USE_GLOG
  FLAGS_minloglevel = google::GLOG_FATAL;
#else
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
#endif
}

Result<StorePtr> connect_again(const RankPlace& place) {
  constexpr auto timeout = 10s;
  try {
    return open_store(place, false, timeout);
  } catch (const std::exception& error) {
    return Error{
        Errc::io,
        fmt::format("rank 0 was not reached at {}: {}", where(place), what_c10d_says(error)),
        "start the ranks again"};
  }
}

Result<Meeting> meet(const RankPlace& place, std::uint64_t job, const JoinTimes& times,
                     Observer& observer) {
  log_nothing();
  Patience patience(times.meet, observer);
  Meeting meeting;
  HEADROOM_TRY(meeting.address, address_towards(place.rendezvous->host, place.rendezvous->port));
  HEADROOM_TRY(meeting.store,
               place.rank == 0 ? keep_store(place) : reach_store(place, patience, observer));
  const std::string own =
      fmt::format("{} {:016x} {}\n{}", program_version(), job, place.ranks, meeting.address);
  try {
    HEADROOM_TRY(const auto told, introduce(*meeting.store, place, own, patience, observer));
    HEADROOM_CHECK(compare(told, place));
  } catch (const std::exception& error) {
    return Error{Errc::io, "the ranks could not meet: " + what_c10d_says(error),
                 "start them again"};
  }
  return meeting;
}

}  // namespace headroom::trainer
