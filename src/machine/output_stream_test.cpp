// SPDX-License-Identifier: Apache-2.0
#include "machine/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

#include "machine/descriptor.h"

namespace headroom::machine {
namespace {

struct Pipe {
  explicit Pipe(int flags) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), flags | O_CLOEXEC), 0);
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
  }
  Descriptor read_end, write_end;
};

TEST(OutputStream, a_reader_that_is_slow_gets_everything_from_a_pipe_that_does_not_wait) {
  Pipe pipe(O_NONBLOCK);
  const std::string text(std::size_t{1} << 20U, 'x');  // Far more than a pipe holds.
  std::size_t got = 0;
  std::jthread reader([&] {
    ::fcntl(pipe.read_end.get(), F_SETFL, 0);
    std::array<char, 4096> piece{};
    for (ssize_t count = 1; count > 0; got += static_cast<std::size_t>(count))
      count = ::read(pipe.read_end.get(), piece.data(), piece.size());
  });
  OutputStream stream(pipe.write_end.get(), false);
  stream.write(text);
  pipe.write_end = Descriptor();
  reader.join();
  EXPECT_FALSE(stream.problem());
  EXPECT_EQ(got, text.size());
}

TEST(OutputStream, what_outlives_a_broken_pipe_leaves_no_signal_behind) {
  Pipe pipe(0);
  { const Descriptor gone = std::move(pipe.read_end); }
  OutputStream stream(pipe.write_end.get(), false);
  stream.outlive_broken_pipe();
  stream.write("text");
  EXPECT_EQ(stream.problem(), "Broken pipe");
  sigset_t pending{};
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
  sigset_t blocked{};
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGPIPE), 0);
}

TEST(OutputStream, a_reader_who_has_gone_ends_the_program) {
  EXPECT_EXIT(
      {
        Pipe pipe(0);
        { const Descriptor gone = std::move(pipe.read_end); }
        OutputStream(pipe.write_end.get(), false).write("text");
      },
      testing::KilledBySignal(SIGPIPE), "");
}

TEST(OutputStream, a_full_disk_and_what_was_closed_are_remembered) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  OutputStream stream(full.get(), false);
  EXPECT_FALSE(stream.problem());
  stream.write("text");
  EXPECT_EQ(stream.problem(), "No space left on device");
  OutputStream closed(full.get(), true);
  closed.flush();
  EXPECT_FALSE(closed.problem()) << "nothing was to be said";
  closed.write("text");
  EXPECT_EQ(closed.problem(), "it is closed");
}

}  // namespace
}  // namespace headroom::machine
