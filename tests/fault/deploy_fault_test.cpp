// SPDX-License-Identifier: Apache-2.0
// A deployment killed (SIGKILL) before every single action of the deployer and every operation on a
// file, with a real service: after the next call it runs, whole, with the old or the new
// configuration. With HEADROOM_TEST_ALL every step is tried, else one in seven.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "deploy/record.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"
#include "service/deployment.h"

namespace headroom {
namespace {

constexpr const char* old_text = "answer=good\nversion=old\n";
constexpr const char* new_text = "answer=good\nversion=new\n";
constexpr const char* bad_text = "answer=bad\nversion=new\n";

// A daemon that says what it was started with, in the file "running".
constexpr const char* service_script =
    "#!/bin/sh\n"
    "case $1 in\n"
    "start)\n"
    "  setsid sh -c 'cp app.conf running; exec sleep 1000' >/dev/null 2>&1 </dev/null &\n"
    "  echo $! > pid\n"
    "  while ! cmp -s app.conf running; do sleep 0.01; done ;;\n"
    "stop) kill -9 $(cat pid); rm -f pid running; true ;;\n"
    "status) kill -0 $(cat pid) ;;\n"
    "ask) kill -0 $(cat pid) && grep -q answer=good running && echo good ;;\n"
    "esac\n";

constexpr const char* service_file =
    "[service]\n"
    "name = \"toy\"\nkind = \"commands\"\npidfile = \"pid\"\n"
    "start = [\"sh\", \"service.sh\", \"start\"]\n"
    "stop = [\"sh\", \"service.sh\", \"stop\"]\n"
    "status = [\"sh\", \"service.sh\", \"status\"]\n"
    "[[change]]\nfile = \"app.conf\"\nwith = \"new.conf\"\n"
    "[health]\ncommand = [\"sh\", \"service.sh\", \"status\"]\ntimeout_s = 20\n"
    "[smoke]\ncommand = [\"sh\", \"service.sh\", \"ask\"]\nexpect_text = \"good\"\n"
    "repeat = 2\nconcurrency = 1\ntimeout_s = 10\n"
    "[watch]\nseconds = 0.1\n";

class Toy {
 public:
  explicit Toy(const char* candidate) : folder_(*machine::TemporaryFolder::make()) {
    write("service.sh", service_script);
    write("SERVICE.toml", service_file);
    write("app.conf", old_text);
    write("new.conf", candidate);
    EXPECT_EQ(call("start"), 0);
  }
  ~Toy() { call("stop"); }
  Toy(const Toy&) = delete;
  Toy& operator=(const Toy&) = delete;

  // A call of its own process, killed before its `last` step; 0: not killed. How it ended.
  int deploy(std::uint64_t last, bool apply) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(deploy_here(last, apply));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  int call(const std::string& what) const {
    const std::string line =
        fmt::format("cd '{}' && sh service.sh {} 2>/dev/null", folder_.path(), what);
    return std::system(line.c_str());  // NOLINT(concurrency-mt-unsafe)
  }
  std::string read(const std::string& name) const {
    const auto text = machine::read_file(folder_.path() + "/" + name);
    return text ? *text : "";
  }
  // Whether nothing is left for anybody to finish.
  bool is_settled() const {
    const auto record = deploy::parse_record(read("state/headroom/deploy/toy/record.json"));
    return !record || !deploy::needs_finishing(*record);
  }

 private:
  void write(const std::string& name, const char* text) const {
    EXPECT_TRUE(machine::write_file_atomic(folder_.path() + "/" + name, text));
  }
  int deploy_here(std::uint64_t last, bool apply) const {
    service::DeployOrder order;
    order.file = folder_.path() + "/SERVICE.toml";
    order.text = service_file;
    order.spec = *deploy::parse_service_spec(order.text, order.file);
    order.state = folder_.path() + "/state/headroom";
    order.environment = {"PATH=/usr/bin:/bin"};
    order.words = {"headroom", "deploy", "SERVICE.toml"};
    order.apply = apply;
    order.say = [](const std::string&, const std::string&) {};
    std::uint64_t steps = 0;
    order.before_each = [&steps, last](std::string_view) {
      if (++steps == last) ::kill(::getpid(), SIGKILL);
    };
    const auto done = service::deploy_service(order);
    if (!done) return 3;
    if (done->mistake) return 2;
    return done->report.outcome == deploy::Outcome::committed ? 0 : 1;
  }

  machine::TemporaryFolder folder_;
};

class DeployFault : public testing::Test {
 protected:
  // What a killed service's daemons come to; else they would pile up at process 1.
  static void SetUpTestSuite() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  void kill_at_every_step(const char* candidate, int outcome, const std::string& final_text) {
    const std::uint64_t stride = std::getenv("HEADROOM_TEST_ALL") != nullptr ? 1 : 7;  // NOLINT
    std::uint64_t last = 1;
    for (;; last += stride) {
      Toy toy(candidate);
      const int ended = toy.deploy(last, true);
      if (ended != 128 + SIGKILL) {
        EXPECT_EQ(ended, outcome);
        EXPECT_EQ(toy.read("app.conf"), final_text);
        break;
      }
      const int next = toy.deploy(0, true);
      const std::string text = toy.read("app.conf");
      // Killed after the commit, there is nothing left that would change.
      EXPECT_TRUE(next == 0 || next == 1 || (next == 2 && text == new_text))
          << "step " << last << ": " << next;
      EXPECT_TRUE(text == old_text || (text == new_text && candidate == new_text))
          << "step " << last << ": " << text;
      EXPECT_EQ(toy.call("status"), 0) << "step " << last << ": it does not run";
      EXPECT_EQ(toy.read("running"), text) << "step " << last << ": it runs with something else";
      EXPECT_TRUE(toy.is_settled()) << "step " << last;
    }
    EXPECT_GT(last, 100U) << "too few steps to be a deployment";
  }
};

TEST_F(DeployFault, killed_anywhere_on_the_way_to_a_commit_it_ends_whole_and_running) {
  kill_at_every_step(new_text, 0, new_text);
}

TEST_F(DeployFault, killed_anywhere_on_the_way_back_it_ends_with_the_old_configuration) {
  kill_at_every_step(bad_text, 1, old_text);
}

// The way back is killed as well, again and again, and once nobody kills it any more it ends.
TEST_F(DeployFault, whoever_finishes_it_may_be_killed_too) {
  Toy toy(bad_text);
  std::uint64_t last = 90;
  while (toy.deploy(last, true) == 128 + SIGKILL && last > 0) last = last > 12 ? last - 12 : 0;
  EXPECT_EQ(toy.deploy(0, true), 1);
  EXPECT_EQ(toy.read("app.conf"), old_text);
  EXPECT_EQ(toy.read("running"), old_text);
  EXPECT_TRUE(toy.is_settled());
}

// Also a call without --apply ends what was begun with it.
TEST_F(DeployFault, a_call_that_only_looks_finishes_what_was_begun) {
  Toy toy(bad_text);
  ASSERT_EQ(toy.deploy(100, true), 128 + SIGKILL);
  ASSERT_FALSE(toy.is_settled());
  EXPECT_EQ(toy.deploy(0, false), 1);
  EXPECT_TRUE(toy.is_settled());
  EXPECT_EQ(toy.read("running"), old_text);
}

}  // namespace
}  // namespace headroom
