// SPDX-License-Identifier: Apache-2.0
// A tuning killed (SIGKILL) before every single action of the deployer and every operation on a
// file, with a real service: the next call brings back the old configuration, byte for byte, or
// ends the commit of the best one. With HEADROOM_TEST_ALL every step is tried, else one in 37.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "deploy/record.h"
#include "machine/temporary_folder.h"
#include "machine/user_files.h"
#include "service/tuning.h"

namespace headroom {
namespace {

constexpr const char* old_text = "# kept\nnap = 0.1  # seconds\nother = 1\n";
constexpr const char* new_text = "# kept\nnap = 0.01  # seconds\nother = 1\n";

// A daemon that says what it was started with, in the file "running", and answers as slowly.
constexpr const char* service_script =
    "#!/bin/sh\n"
    "case $1 in\n"
    "start)\n"
    "  setsid sh -c 'cp app.conf running; exec sleep 1000' >/dev/null 2>&1 </dev/null &\n"
    "  echo $! > pid\n"
    "  while ! cmp -s app.conf running; do sleep 0.01; done ;;\n"
    "stop) kill -9 $(cat pid); rm -f pid running; true ;;\n"
    "status) kill -0 $(cat pid) ;;\n"
    "ask) kill -0 $(cat pid) && sleep $(sed -n 's/^nap = \\([0-9.]*\\).*/\\1/p' running) && echo "
    "good ;;\n"
    "esac\n";

constexpr const char* service_file =
    "[service]\n"
    "name = \"toy\"\nkind = \"commands\"\npidfile = \"pid\"\n"
    "start = [\"sh\", \"service.sh\", \"start\"]\n"
    "stop = [\"sh\", \"service.sh\", \"stop\"]\n"
    "status = [\"sh\", \"service.sh\", \"status\"]\n"
    "[[tune]]\nname = \"nap\"\nas = \"key\"\nfile = \"app.conf\"\nvalues = [0.01, 0.1, 0.3]\n"
    "[health]\ncommand = [\"sh\", \"service.sh\", \"status\"]\ntimeout_s = 20\n"
    "[smoke]\ncommand = [\"sh\", \"service.sh\", \"ask\"]\nexpect_text = \"good\"\n"
    "repeat = 4\nconcurrency = 1\ntimeout_s = 10\n"
    "[watch]\nseconds = 0.1\n";

class Toy {
 public:
  Toy() : folder_(*machine::TemporaryFolder::make()) {
    write("service.sh", service_script);
    write("SERVICE.toml", service_file);
    write("app.conf", old_text);
    EXPECT_EQ(call("start"), 0);
  }
  ~Toy() { call("stop"); }
  Toy(const Toy&) = delete;
  Toy& operator=(const Toy&) = delete;

  // A call of its own process, killed before its `last` step; 0: not killed. How it ended.
  int tune(std::uint64_t last, bool apply) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(tune_here(last, apply));
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
  // 0: deployed or planned, 1: something else, 4: it finished an earlier one.
  int tune_here(std::uint64_t last, bool apply) const {
    service::TuneOrder order;
    order.cores = 2;
    service::DeployOrder& it = order.deploy;
    it.file = folder_.path() + "/SERVICE.toml";
    it.text = service_file;
    it.spec = *deploy::parse_service_spec(it.text, it.file);
    it.state = folder_.path() + "/state/headroom";
    it.environment = {"PATH=/usr/bin:/bin"};
    it.words = {"headroom", "tune", "SERVICE.toml"};
    it.apply = apply;
    it.say = [](const std::string&, const std::string&) {};
    std::uint64_t steps = 0;
    it.before_each = [&steps, last](std::string_view) {
      if (++steps == last) ::kill(::getpid(), SIGKILL);
    };
    const auto done = service::tune_service(order);
    if (!done) return 3;
    if (done->mistake) return 2;
    if (done->finished) return 4;
    const auto outcome = done->report.outcome;
    return outcome == tune::Outcome::deployed || outcome == tune::Outcome::planned ? 0 : 1;
  }

  machine::TemporaryFolder folder_;
};

class TuneFault : public testing::Test {
 protected:
  // What a killed service's daemons come to; else they would pile up at process 1.
  static void SetUpTestSuite() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  void TearDown() override {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
};

TEST_F(TuneFault, killed_anywhere_the_next_call_ends_it_whole_and_running) {
  const std::uint64_t stride = std::getenv("HEADROOM_TEST_ALL") != nullptr ? 1 : 37;  // NOLINT
  std::uint64_t last = 1, finished = 0;
  for (;; last += stride) {
    Toy toy;
    const int ended = toy.tune(last, true);
    if (ended != 128 + SIGKILL) {
      EXPECT_EQ(ended, 0);
      EXPECT_EQ(toy.read("app.conf"), new_text);
      break;
    }
    const bool was_settled = toy.is_settled();
    const int next = toy.tune(0, false);
    const std::string text = toy.read("app.conf");
    EXPECT_EQ(next, was_settled ? 0 : 4) << "step " << last;
    if (!was_settled) ++finished;
    EXPECT_TRUE(text == old_text || text == new_text) << "step " << last << ": " << text;
    EXPECT_EQ(toy.call("status"), 0) << "step " << last << ": it does not run";
    EXPECT_EQ(toy.read("running"), text) << "step " << last << ": it runs with something else";
    EXPECT_TRUE(toy.is_settled()) << "step " << last;
  }
  EXPECT_GT(last, 200U) << "too few steps to be a tuning";
  EXPECT_GT(finished, 4U) << "too few of them were in the middle of something";
}

// Whoever brings it back may be killed too, again and again.
TEST_F(TuneFault, whoever_finishes_it_may_be_killed_too) {
  Toy toy;
  std::uint64_t last = 150;
  while (toy.tune(last, true) == 128 + SIGKILL && last > 0) last = last > 15 ? last - 15 : 0;
  if (!toy.is_settled()) {
    EXPECT_EQ(toy.tune(0, true), 4);
  }
  EXPECT_EQ(toy.read("app.conf"), old_text);
  EXPECT_EQ(toy.read("running"), old_text);
  EXPECT_TRUE(toy.is_settled());
}

}  // namespace
}  // namespace headroom
