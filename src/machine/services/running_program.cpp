// SPDX-License-Identifier: Apache-2.0
#include "machine/services/running_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "machine/clock.h"
#include "machine/os_error.h"

namespace headroom::machine {
namespace {

constexpr std::size_t kept_errors = std::size_t{16} << 10U;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

struct Pipe {
  Descriptor reads, writes;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error(errno, "making a pipe");
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// posix_spawn with a session of its own and every signal as a new program expects it.
class Spawning {
 public:
  Spawning(const std::string& folder, int output, int errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    // Nothing of ours is held open by a service that outlives us: no lock, no connection.
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD, SIGXFSZ})
      sigaddset(&signals, signal);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  // The child, or -errno.
  pid_t start(const std::string& program, const ProgramCall& call) const {
    pid_t child = 0;
    const int failure = posix_spawnp(&child, program.c_str(), &actions_, &attributes_,
                                     pointers(call.argv).data(), pointers(call.environment).data());
    return failure == 0 ? child : -failure;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// A bare name that PATH lacks may be a file beside SERVICE.toml.
pid_t spawn(const ProgramCall& call, int output, int errors) {
  const Spawning spawning(call.folder, output, errors);
  const std::string& name = call.argv[0];
  const pid_t child = spawning.start(name, call);
  if (child != -ENOENT || name.find('/') != std::string::npos) return child;
  return spawning.start("./" + name, call);
}

// Counts what it reads. True when there will be no more. Whoever writes without a pause does not
// keep us here.
bool drain_one(int from, std::string& to, std::size_t limit, bool keep_end, std::uint64_t& read) {
  constexpr int pieces_at_once = 64;
  std::array<char, 65536> piece;
  for (int i = 0; i < pieces_at_once; ++i) {
    const ssize_t count = ::read(from, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno != EAGAIN;
    if (count == 0) return true;
    const auto bytes = static_cast<std::size_t>(count);
    read += bytes;
    to.append(piece.data(), keep_end ? bytes : std::min(bytes, limit - to.size()));
    if (keep_end && to.size() > 2 * limit) to.erase(0, to.size() - limit);
  }
  return false;
}

}  // namespace

RunningProgram::RunningProgram(pid_t pid, Descriptor output, Descriptor errors,
                               const ProgramCall& call)
    : pid_(pid),
      own_(call.own),
      ends_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
      output_end_(std::move(output)),
      errors_end_(std::move(errors)),
      keeps_end_(call.keeps_end) {
  if (own_) own_->pids.insert(static_cast<std::uint64_t>(pid_));
}

void RunningProgram::leave() {
  if (own_) own_->pids.erase(static_cast<std::uint64_t>(pid_));
}

RunningProgram::~RunningProgram() {
  if (has_ended_) return;
  ::kill(-pid_, SIGKILL);  // Its session is its own, and so is its process group.
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  leave();
}

Result<std::unique_ptr<RunningProgram>> RunningProgram::start(const ProgramCall& call) {
  const std::string doing = "starting " + call.argv[0];
  pid_t child = 0;
  Pipe output, errors;
  if (call.output_file.empty()) {
    HEADROOM_TRY(output, make_pipe());
    HEADROOM_TRY(errors, make_pipe());
    child = spawn(call, output.writes.get(), errors.writes.get());
  } else {
    const Descriptor file(::open(call.output_file.c_str(),
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return os_error(errno, "writing " + call.output_file);
    child = spawn(call, file.get(), file.get());
  }
  if (child < 0) return os_error(-child, doing);
  return std::unique_ptr<RunningProgram>(
      new RunningProgram(child, std::move(output.reads), std::move(errors.reads), call));
}

void RunningProgram::drain() {
  if (output_end_.get() >= 0 &&
      drain_one(output_end_.get(), output_, longest_body, keeps_end_, written_))
    output_end_ = Descriptor();
  std::uint64_t said = 0;
  if (errors_end_.get() >= 0 && drain_one(errors_end_.get(), errors_, kept_errors, true, said))
    errors_end_ = Descriptor();
}

bool RunningProgram::reap() {
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  has_ended_ = true;
  leave();
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  drain();  // After the end: all that it said itself is in the pipes.
  return true;
}

bool RunningProgram::wait(std::uint64_t timeout_ms) {
  const std::uint64_t deadline = monotonic_ns() + timeout_ms * 1'000'000;
  while (!has_ended_) {
    drain();
    if (reap()) break;
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline) return false;
    // Without pidfd_open (before Linux 5.3) the end is looked for every 20 ms.
    const std::uint64_t most = ends_.get() >= 0 ? 60'000 : 20;
    const std::uint64_t left_ms = (deadline - now + 999'999) / 1'000'000;
    std::array<pollfd, 3> watched{
        {{ends_.get(), POLLIN, 0}, {output_end_.get(), POLLIN, 0}, {errors_end_.get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), static_cast<int>(std::min(left_ms, most)));
  }
  return true;
}

Result<CallResult> call_program(const ProgramCall& call, std::uint64_t timeout_ms) {
  HEADROOM_TRY(const auto program, RunningProgram::start(call));
  if (!program->wait(timeout_ms)) {
    return Error{Errc::busy,
                 fmt::format("expected {} to end within {:.0f} s, and it did not", call.argv[0],
                             static_cast<double>(timeout_ms) / 1000),
                 ""};
  }
  return CallResult{program->status(), std::move(program->output()), program->errors(),
                    program->written()};
}

}  // namespace headroom::machine
