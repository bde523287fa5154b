// SPDX-License-Identifier: Apache-2.0
// How fast a relay passes a command's output on, beside cat(1) in the same place:
//   relay_ratio [MEBIBYTES] [ROUNDS]
// Rounds of both alternate, so that what else the machine does meets both alike.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "machine/clock.h"
#include "machine/descriptor.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/relay.h"

namespace {

using namespace headroom;

// Reads what comes, as a program behind a pipe does, and ends with it.
pid_t start_consumer(machine::Descriptor& writing) {
  std::array<int, 2> both{};
  if (::pipe2(both.data(), O_CLOEXEC) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(both[0], STDIN_FILENO);
    ::close(both[1]);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execlp("cat", "cat", nullptr);
    ::_exit(127);
  }
  ::close(both[0]);
  writing = machine::Descriptor(both[1]);
  return child;
}

std::vector<std::string> producer(const std::string& bytes) {
  return {"head", "-c", bytes, "/dev/zero"};
}

machine::TreeOptions options_of(std::vector<std::string> argv, int output) {
  machine::TreeOptions options;
  options.argv = std::move(argv);
  options.environment = {"PATH=/usr/bin:/bin"};
  options.output = output;
  return options;
}

void pass_by_relay(const std::string& bytes, int target) {
  std::uint64_t seen = 0;
  auto relay = machine::Relay::start(target, [&](std::string_view piece, std::uint64_t left_out) {
    seen += piece.size() + left_out;
  });
  if (!relay) std::abort();
  const auto tree = machine::ProcessTree::start(options_of(producer(bytes), (*relay)->source()));
  if (!tree) std::abort();
  (*relay)->close_source();
  (*relay)->finish();
  if (std::to_string(seen) != bytes) std::abort();
}

void pass_by_cat(const std::string& bytes, int target) {
  const auto tree = machine::ProcessTree::start(
      options_of({"sh", "-c", fmt::format("head -c {} /dev/zero | cat", bytes)}, target));
  if (!tree) std::abort();
  while (!(*tree)->main_exit()) ::usleep(200);
}

double seconds_of(const std::function<void(const std::string&, int)>& pass,
                  const std::string& bytes) {
  machine::Descriptor writing;
  const pid_t consumer = start_consumer(writing);
  const std::uint64_t begin = machine::monotonic_ns();
  pass(bytes, writing.get());
  writing = machine::Descriptor();
  ::waitpid(consumer, nullptr, 0);
  return static_cast<double>(machine::monotonic_ns() - begin) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string bytes = std::to_string(mebibytes << 20U);
  std::vector<double> cat;
  std::vector<double> relay;
  for (int i = 0; i < rounds; ++i) {
    cat.push_back(seconds_of(pass_by_cat, bytes));
    relay.push_back(seconds_of(pass_by_relay, bytes));
  }
  const auto rate = [&](double seconds) { return static_cast<double>(mebibytes) / seconds; };
  fmt::print("cat {:.0f} MiB/s, relay {:.0f} MiB/s, ratio {:.2f} (medians of {})\n",
             rate(median(cat)), rate(median(relay)), median(cat) / median(relay), rounds);
  return 0;
}
