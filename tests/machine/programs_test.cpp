// SPDX-License-Identifier: Apache-2.0
// Which programs are run for a machine, with what around them, and what is kept of what they say.
#include "machine/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "support/scratch_root.h"

namespace headroom::machine {
namespace {

namespace fs = std::filesystem;
using headroom::testing::Scratch;
using headroom::testing::ScratchRoot;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ProgramsTest : public ::testing::Test {
 protected:
  ProgramOutput run(const std::vector<std::string>& argv) {
    auto output = (*make_programs(root_.string()))->run(argv);
    if (output) return *output;
    ADD_FAILURE() << output.error().message;
    return {};
  }

  ScratchRoot root_;
};

TEST_F(ProgramsTest, only_this_system_and_marked_roots_have_programs) {
  const Scratch unmarked;
  EXPECT_EQ(make_programs(unmarked.string()).error().code, Errc::not_this_system);
  EXPECT_TRUE((*make_programs("/"))->has("sh"));
  EXPECT_EQ((*make_programs("/"))->run({"true"})->status, 0);
}

TEST_F(ProgramsTest, a_scratch_root_has_its_own_programs_and_no_others) {
  root_.program("/usr/sbin/update-grub", "echo made; echo warned >&2; exit 3\n");
  root_.write("/usr/bin/plain", "no program", 0644);
  root_.folder("/usr/bin/folder");
  const auto programs = *make_programs(root_.string());
  EXPECT_TRUE(programs->has("update-grub"));
  for (const char* name : {"sh", "true", "plain", "folder", "", "../sbin/update-grub", "/bin/sh"}) {
    EXPECT_FALSE(programs->has(name)) << name;
    const auto output = programs->run({name});
    ASSERT_FALSE(output.has_value()) << name;
    EXPECT_EQ(output.error().code, Errc::not_found);
    EXPECT_NE(output.error().next, "");
  }
  EXPECT_FALSE(programs->run({}).has_value());
  const ProgramOutput output = run({"update-grub"});
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.text, "made\nwarned\n");
}

TEST_F(ProgramsTest, a_link_to_a_program_of_the_host_is_none) {
  root_.folder("/usr/bin");
  root_.link("/usr/bin/true", "/bin/true");
  root_.link("/usr/bin/upwards", "../../../../../../../../../../usr/bin/true");
  const auto programs = *make_programs(root_.string());
  EXPECT_FALSE(programs->has("true"));
  EXPECT_FALSE(programs->has("upwards"));
  root_.program("/opt/tool", "echo own\n");
  root_.link("/usr/bin/tool", "/opt/tool");
  EXPECT_EQ(run({"tool"}).text, "own\n");
}

TEST_F(ProgramsTest, it_gets_its_words_a_bare_environment_and_no_input) {
  root_.program("/usr/bin/tell",
                "echo \"$# $1\"; env; pwd; cat; [ -t 0 ] && echo terminal\nexit 0\n");
  ASSERT_EQ(::setenv("HEADROOM_TEST_SECRET", "leaks", 1), 0);
  const ProgramOutput output = run({"tell", "two words", ""});
  ::unsetenv("HEADROOM_TEST_SECRET");
  const std::string root = fs::canonical(root_.string());
  EXPECT_THAT(output.text, StartsWith("2 two words\n"));
  EXPECT_THAT(output.text, HasSubstr("ROOT=" + root + "\n"));
  EXPECT_THAT(output.text, HasSubstr("PATH=" + root + "/usr/local/sbin:"));
  EXPECT_THAT(output.text, HasSubstr("LC_ALL=C.UTF-8\n"));
  EXPECT_THAT(output.text, HasSubstr("\n" + root + "\n"));
  EXPECT_THAT(output.text, Not(HasSubstr("HEADROOM_TEST_SECRET")));
  EXPECT_THAT(output.text, Not(HasSubstr("terminal")));
}

TEST_F(ProgramsTest, a_signal_is_128_and_its_number_whatever_we_block) {
  root_.program("/usr/bin/stop", "kill -TERM $$; echo lived\n");
  sigset_t term;
  sigset_t before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
  EXPECT_EQ(run({"stop"}).status, 128 + SIGTERM);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(ProgramsTest, of_much_output_the_last_lines_are_kept) {
  root_.program("/usr/bin/talk", "seq 1 100000; printf end\n");
  const ProgramOutput output = run({"talk"});
  EXPECT_EQ(output.status, 0);
  EXPECT_LE(output.text.size(), 65536U);
  EXPECT_GE(output.text.size(), 65000U);
  EXPECT_TRUE(output.text.ends_with("99999\n100000\nend"));
  const std::string first = output.text.substr(0, output.text.find('\n'));
  EXPECT_EQ(first.size(), 5U) << first;  // A whole number, not the end of one.
}

TEST_F(ProgramsTest, what_it_leaves_in_the_background_is_not_waited_for) {
  // The one left behind ends when its pipe goes, at the latest once the test is over.
  root_.program("/usr/bin/leave", "(read line < $ROOT/fifo; exit 0) &\necho left\n");
  ASSERT_EQ(::system(("mkfifo " + root_.string() + "/fifo").c_str()), 0);
  EXPECT_EQ(run({"leave"}).text, "left\n");
  ASSERT_EQ(::system(("echo go > " + root_.string() + "/fifo").c_str()), 0);
}

TEST_F(ProgramsTest, what_cannot_be_started_is_named_and_nothing_is_left_running) {
  root_.write("/usr/bin/odd", "#!/no/such/interpreter\n", 0755);
  const auto output = (*make_programs(root_.string()))->run({"odd"});
  ASSERT_FALSE(output.has_value());
  EXPECT_THAT(output.error().message, HasSubstr("/usr/bin/odd"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace headroom::machine
