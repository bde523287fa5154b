// SPDX-License-Identifier: Apache-2.0
// Streams through a relay: whole, in order, and no slower for who reads along.
#include "machine/tree/relay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "machine/descriptor.h"
#include "machine/tree/process_tree.h"
#include "machine/tree/wait.h"
#include "tree/noise.h"

namespace headroom::machine {
namespace {

using headroom::testing::Noise;

constexpr std::uint64_t long_ms = 60'000;

struct Pipe {
  Pipe() {
    std::array<int, 2> both{};
    EXPECT_EQ(::pipe2(both.data(), O_CLOEXEC), 0);
    reading = Descriptor(both[0]);
    writing = Descriptor(both[1]);
  }
  Descriptor reading, writing;
};

// Reads to the end, and says whether it was this noise and how much.
std::uint64_t count_noise(int fd, std::uint64_t seed, std::size_t piece_bytes = 65536) {
  Noise noise(seed);
  std::vector<char> piece(piece_bytes);
  std::uint64_t total = 0;
  ssize_t count = 0;
  while ((count = ::read(fd, piece.data(), piece.size())) > 0) {
    const auto length = static_cast<std::size_t>(count);
    EXPECT_TRUE(noise.continues_with({piece.data(), length})) << "after " << total;
    total += length;
  }
  return total;
}

std::string read_some(int fd) {
  std::array<char, 4096> piece;
  const ssize_t count = ::read(fd, piece.data(), piece.size());
  return count > 0 ? std::string(piece.data(), static_cast<std::size_t>(count)) : "";
}

void write_text(int fd, std::string_view text) {
  ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::unique_ptr<ProcessTree> start_nasty(std::vector<std::string> words, int output) {
  words.insert(words.begin(), HEADROOM_NASTY_PROGRAM);
  TreeOptions options;
  options.argv = std::move(words);
  options.output = output;
  auto tree = ProcessTree::start(options);
  EXPECT_TRUE(tree) << tree.error().message;
  return tree ? std::move(*tree) : nullptr;
}

std::unique_ptr<Relay> must_start(int target, Relay::Reader reader) {
  auto relay = Relay::start(target, std::move(reader));
  EXPECT_TRUE(relay) << relay.error().message;
  return std::move(*relay);
}

void ignore(std::string_view /*piece*/, std::uint64_t /*left_out*/) {}

// What reads along keeps, with what was left out counted.
struct Kept {
  Relay::Reader reader() {
    return [this](std::string_view piece, std::uint64_t left_out) {
      text += piece;
      missing += left_out;
    };
  }
  std::string text;
  std::uint64_t missing = 0;
};

TEST(Relay, passes_every_byte_of_a_loud_program_in_order) {
  constexpr std::uint64_t length = 100'000'000;
  Pipe pipe;
  std::uint64_t seen = 0;
  const auto relay =
      must_start(pipe.writing.get(),
                 [&](std::string_view piece, std::uint64_t left) { seen += piece.size() + left; });
  const auto tree = start_nasty({"print", std::to_string(length), "exit", "0"}, relay->source());
  relay->close_source();
  std::uint64_t passed = 0;
  std::thread consumer([&] { passed = count_noise(pipe.reading.get(), length); });
  EXPECT_TRUE(relay->finish());
  pipe.writing = Descriptor();
  consumer.join();
  EXPECT_EQ(passed, length);
  EXPECT_EQ(relay->bytes(), length);
  EXPECT_EQ(seen, length) << "what reads along has counted what it did not get";
}

TEST(Relay, tells_whether_the_last_line_has_an_end) {
  Pipe pipe;
  const auto relay = must_start(pipe.writing.get(), ignore);
  EXPECT_FALSE(relay->is_in_line());
  write_text(relay->source(), "loss 0.5");
  EXPECT_EQ(read_some(pipe.reading.get()), "loss 0.5");
  relay->finish();
  EXPECT_TRUE(relay->is_in_line());
}

TEST(Relay, passes_on_what_nobody_is_told_any_more) {
  Pipe pipe;
  Kept kept;
  const auto relay = must_start(pipe.writing.get(), kept.reader());
  relay->stop_telling();
  write_text(relay->source(), "step 1\n");
  EXPECT_TRUE(relay->finish());
  EXPECT_EQ(read_some(pipe.reading.get()), "step 1\n");
  EXPECT_EQ(kept.text, "");
}

TEST(Relay, reader_that_is_slow_holds_nobody_up_and_gets_the_end) {
  constexpr std::uint64_t length = 64'000'000;
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Pipe gate;  // The reader waits here with its first piece.
  std::string end;
  std::uint64_t seen = 0;
  std::uint64_t missing = 0;
  const auto relay = must_start(nowhere.get(), [&](std::string_view piece, std::uint64_t left_out) {
    if (seen == 0) read_some(gate.reading.get());
    seen += piece.size();
    missing += left_out;
    end = piece;
  });
  const auto tree = start_nasty({"print", std::to_string(length), "exit", "0"}, relay->source());
  relay->close_source();
  const std::array done{relay->descriptor()};
  ASSERT_TRUE(wait_readable(done, long_ms)[0]) << "all was passed on while the reader slept";
  EXPECT_EQ(relay->bytes(), length);
  write_text(gate.writing.get(), "go");
  EXPECT_TRUE(relay->finish());
  EXPECT_GT(missing, 0U);
  EXPECT_EQ(seen + missing, length);
  Noise noise(length);
  std::vector<char> all(length);
  noise.fill(all);
  EXPECT_TRUE(std::string_view(all.data(), all.size()).ends_with(end));
}

TEST(Relay, who_waits_for_the_end_reads_the_rest_at_its_own_priority) {
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Pipe begun;
  Pipe gate;
  std::vector<std::thread::id> readers;
  const auto relay = must_start(nowhere.get(), [&](std::string_view, std::uint64_t) {
    if (readers.empty()) {
      write_text(begun.writing.get(), "begun");
      read_some(gate.reading.get());
    }
    readers.push_back(std::this_thread::get_id());
  });
  write_text(relay->source(), std::string(1 << 20, 'x'));
  // Without this a busy machine may hand over before the reader's own thread has its first piece.
  EXPECT_EQ(read_some(begun.reading.get()), "begun");
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    write_text(gate.writing.get(), "go");
  });
  EXPECT_TRUE(relay->finish());
  opener.join();
  ASSERT_GE(readers.size(), 2U);
  EXPECT_NE(readers.front(), std::this_thread::get_id());
  for (std::size_t i = 1; i < readers.size(); ++i)
    EXPECT_EQ(readers[i], std::this_thread::get_id()) << i;
}

TEST(Relay, consumer_that_reads_little_at_a_time_gets_everything) {
  constexpr std::uint64_t length = 3'000'000;
  Pipe pipe;
  ::fcntl(pipe.writing.get(), F_SETFL, O_NONBLOCK);  // As a shared terminal may be.
  const auto relay = must_start(pipe.writing.get(), ignore);
  const auto tree = start_nasty({"print", std::to_string(length), "exit", "0"}, relay->source());
  relay->close_source();
  std::uint64_t passed = 0;
  std::thread consumer([&] { passed = count_noise(pipe.reading.get(), length, 777); });
  EXPECT_TRUE(relay->finish());
  pipe.writing = Descriptor();
  consumer.join();
  EXPECT_EQ(passed, length);
  EXPECT_FALSE(relay->problem());
}

TEST(Relay, target_without_a_reader_ends_the_command_by_sigpipe) {
  Pipe pipe;
  const auto relay = must_start(pipe.writing.get(), ignore);
  const auto tree = start_nasty({"print", "1000000000", "exit", "0"}, relay->source());
  relay->close_source();
  pipe.reading = Descriptor();
  const std::array ended{tree->descriptor()};
  ASSERT_TRUE(wait_readable(ended, long_ms)[0]);
  EXPECT_EQ(tree->main_exit()->signal, SIGPIPE);
  relay->finish();
  EXPECT_FALSE(relay->problem()) << "that is how a pipe into head ends";
}

TEST(Relay, quiet_command_notices_with_its_next_write_that_nobody_reads) {
  Pipe pipe;
  const auto relay = must_start(pipe.writing.get(), ignore);
  const Descriptor source(::fcntl(relay->source(), F_DUPFD_CLOEXEC, 3));
  relay->close_source();
  pipe.reading = Descriptor();
  const std::array done{relay->descriptor()};
  ASSERT_TRUE(wait_readable(done, long_ms)[0]);
  pollfd command{source.get(), 0, 0};
  EXPECT_EQ(::poll(&command, 1, 0), 1);
  EXPECT_NE(command.revents & POLLERR, 0);
}

TEST(Relay, full_disk_is_told_and_does_not_block_the_command) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Kept kept;
  const auto relay = must_start(full.get(), kept.reader());
  const auto tree = start_nasty({"print", "5000000", "exit", "3"}, relay->source());
  relay->close_source();
  const std::array ended{tree->descriptor()};
  ASSERT_TRUE(wait_readable(ended, long_ms)[0]);
  EXPECT_EQ(tree->main_exit()->code, 3);
  EXPECT_TRUE(relay->finish());
  ASSERT_TRUE(relay->problem());
  EXPECT_EQ(relay->problem()->code, Errc::no_space);
  EXPECT_EQ(kept.text.size() + kept.missing, 5'000'000U);
  EXPECT_EQ(relay->bytes(), 0U);
}

TEST(Relay, without_a_target_there_is_the_reader) {
  Kept kept;
  const auto relay = must_start(1000, kept.reader());
  write_text(relay->source(), "said to nobody\n");
  EXPECT_TRUE(relay->finish());
  EXPECT_EQ(kept.text, "said to nobody\n");
  EXPECT_FALSE(relay->problem());
}

TEST(Relay, finish_does_not_wait_for_a_holder_for_ever_and_loses_nothing) {
  Pipe pipe;
  Kept kept;
  const auto relay = must_start(pipe.writing.get(), kept.reader());
  const Descriptor held(::fcntl(relay->source(), F_DUPFD_CLOEXEC, 3));
  write_text(held.get(), "last words\n");
  EXPECT_FALSE(relay->finish(0));
  EXPECT_EQ(kept.text, "last words\n");
  EXPECT_EQ(read_some(pipe.reading.get()), "last words\n");
}

TEST(Relay, abandoned_relay_does_not_wait_for_a_stuck_consumer) {
  Pipe pipe;
  const auto relay = must_start(pipe.writing.get(), ignore);
  const auto tree = start_nasty({"print", "10000000", "exit", "0"}, relay->source());
  relay->close_source();
  relay->abandon();
  EXPECT_FALSE(relay->finish());
}

// A terminal of our own in place of the user's.
struct Terminal {
  Terminal() : outside(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    ::grantpt(outside.get());
    ::unlockpt(outside.get());
    std::array<char, 64> name{};
    ::ptsname_r(outside.get(), name.data(), name.size());
    inside = Descriptor(::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    resize(24, 80);
  }
  void resize(unsigned short rows, unsigned short columns) const {
    const winsize size{rows, columns, 0, 0};
    ::ioctl(outside.get(), TIOCSWINSZ, &size);
  }
  Descriptor outside, inside;
};

TEST(Relay, command_gets_a_terminal_of_the_same_size_where_ours_is_one) {
  const Terminal terminal;
  const auto relay = must_start(terminal.inside.get(), ignore);
  EXPECT_TRUE(relay->is_terminal());
  EXPECT_EQ(::isatty(relay->source()), 1);
  winsize size{};
  ::ioctl(relay->source(), TIOCGWINSZ, &size);
  EXPECT_EQ(size.ws_col, 80);
  EXPECT_FALSE(relay->copy_window_size()) << "it has not changed";
  terminal.resize(50, 132);
  EXPECT_TRUE(relay->copy_window_size());
  ::ioctl(relay->source(), TIOCGWINSZ, &size);
  EXPECT_EQ(size.ws_row, 50);
  EXPECT_EQ(size.ws_col, 132);
}

TEST(Relay, terminal_passes_bytes_as_they_are) {
  const Terminal terminal;
  termios raw{};
  ::tcgetattr(terminal.inside.get(), &raw);
  ::cfmakeraw(&raw);  // So that what is seen outside is what the relay wrote.
  ::tcsetattr(terminal.inside.get(), TCSANOW, &raw);
  Kept kept;
  const auto relay = must_start(terminal.inside.get(), kept.reader());
  const std::string text("a\nb\r\n\x03\x04\x1a\0\xff\tend", 15);
  write_text(relay->source(), text);
  EXPECT_TRUE(relay->finish());
  EXPECT_EQ(kept.text, text);
  EXPECT_EQ(read_some(terminal.outside.get()), text);
}

TEST(Relay, loud_program_in_a_terminal_loses_nothing) {
  constexpr std::uint64_t length = 2'000'000;
  const Terminal terminal;
  termios raw{};
  ::tcgetattr(terminal.inside.get(), &raw);
  ::cfmakeraw(&raw);
  ::tcsetattr(terminal.inside.get(), TCSANOW, &raw);
  const auto relay = must_start(terminal.inside.get(), ignore);
  const auto tree = start_nasty({"print", std::to_string(length), "exit", "0"}, relay->source());
  relay->close_source();
  Noise noise(length);
  std::uint64_t passed = 0;
  while (passed < length) {
    const std::string piece = read_some(terminal.outside.get());
    ASSERT_FALSE(piece.empty());
    ASSERT_TRUE(noise.continues_with(piece)) << "after " << passed;
    passed += piece.size();
  }
  EXPECT_TRUE(relay->finish());
  EXPECT_EQ(relay->bytes(), length);
}

TEST(Relay, one_terminal_is_told_from_two) {
  const Terminal one;
  const Terminal other;
  const Descriptor again(::fcntl(one.inside.get(), F_DUPFD_CLOEXEC, 3));
  EXPECT_TRUE(Relay::is_same_target(one.inside.get(), again.get()));
  EXPECT_FALSE(Relay::is_same_target(one.inside.get(), other.inside.get()));
}

TEST(Relay, one_pipe_or_opened_file_is_told_from_two) {
  const Pipe one;
  const Pipe other;
  const Descriptor again(::fcntl(one.writing.get(), F_DUPFD_CLOEXEC, 3));
  EXPECT_TRUE(Relay::is_same_target(one.writing.get(), again.get()));
  EXPECT_FALSE(Relay::is_same_target(one.writing.get(), other.writing.get()));
  EXPECT_FALSE(Relay::is_same_target(one.writing.get(), -1));
  const std::string path = ::testing::TempDir() + fmt::format("headroom-relay-{}", ::getpid());
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Descriptor opened_again(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const Descriptor copied(::fcntl(file.get(), F_DUPFD_CLOEXEC, 3));
  ::unlink(path.c_str());
  EXPECT_TRUE(Relay::is_same_target(file.get(), copied.get()));
  EXPECT_FALSE(Relay::is_same_target(file.get(), opened_again.get()));
}

}  // namespace
}  // namespace headroom::machine
