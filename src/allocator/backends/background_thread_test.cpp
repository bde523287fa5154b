// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/background_thread.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <vector>

namespace headroom::allocator {
namespace {

TEST(BackgroundThread, does_work_in_order_on_a_thread_of_its_own) {
  auto background = BackgroundThread::start();
  ASSERT_TRUE(background) << background.error().message;
  std::vector<int> done;
  std::thread::id where;
  std::promise<void> finished;
  for (int i = 0; i < 100; ++i) (*background)->run([&done, i] { done.push_back(i); });
  (*background)->run([&] {
    where = std::this_thread::get_id();
    finished.set_value();
  });
  finished.get_future().wait();
  EXPECT_NE(where, std::this_thread::get_id());
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(BackgroundThread, its_end_waits_for_what_is_being_done_and_drops_the_rest) {
  bool finished = false;
  bool dropped = true;
  {
    auto background = BackgroundThread::start();
    ASSERT_TRUE(background);
    std::promise<void> begun;
    std::promise<void> ending;
    (*background)->run([&] {
      begun.set_value();
      ending.get_future().wait();
      // Until the end has begun; on a loaded machine that takes its time.
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      finished = true;
    });
    (*background)->run([&] { dropped = false; });
    begun.get_future().wait();
    ending.set_value();
    background->reset();
  }
  EXPECT_TRUE(finished);
  EXPECT_TRUE(dropped);
}

TEST(BackgroundThread, a_forked_child_works_for_itself_and_can_let_go) {
  auto background = BackgroundThread::start();
  ASSERT_TRUE(background);
  const pid_t child = ::fork();
  if (child == 0) {
    bool done = false;
    (*background)->run([&] { done = true; });
    background->reset();
    ::_exit(done ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace headroom::allocator
