// SPDX-License-Identifier: Apache-2.0
#include "machine/programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "machine/descriptor.h"
#include "machine/os_error.h"
#include "machine/program_output.h"
#include "machine/writable_files.h"

namespace headroom::machine {
namespace {

constexpr std::array<std::string_view, 6> folders{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                                  "/usr/bin",        "/sbin",          "/bin"};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

// Nothing of ours reaches the program: no input, no blocked or ignored signal, no working folder.
class Spawning {
 public:
  Spawning(int output, const std::string& folder) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ}) {
      sigaddset(&signals, signal);
    }
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  // The child, or -errno.
  pid_t start(const std::string& path, const std::vector<std::string>& argv,
              const std::vector<std::string>& environment) const {
    pid_t child = 0;
    const int failure = posix_spawn(&child, path.c_str(), &actions_, &attributes_,
                                    pointers(argv).data(), pointers(environment).data());
    return failure == 0 ? child : -failure;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

class MachinePrograms : public Programs {
 public:
  // `prefix` is the root's path on this system: "" for "/".
  MachinePrograms(WritableFiles files, std::string prefix)
      : files_(std::move(files)), prefix_(std::move(prefix)) {
    std::vector<std::string> path;
    for (const std::string_view folder : folders) path.push_back(prefix_ + std::string(folder));
    environment_ = {"LC_ALL=C.UTF-8", "HOME=" + prefix_ + "/root"};
    if (!files_.is_real()) {
      environment_.push_back("ROOT=" + prefix_);
      path.insert(path.end(), {"/usr/bin", "/bin"});  // What the stand-ins are written with.
    }
    environment_.push_back("PATH=" + join(path, ":"));
  }

  bool has(std::string_view name) const override { return find(name).has_value(); }

  Result<ProgramOutput> run(const std::vector<std::string>& argv) override {
    const std::string name = argv.empty() ? "" : argv[0];
    const auto path = find(name);
    if (!path) return absent(name);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os_error(errno, "making a pipe");
    const Descriptor output(ends[0]);
    Descriptor input(ends[1]);
    const pid_t child =
        Spawning(input.get(), prefix_.empty() ? "/" : prefix_).start(*path, argv, environment_);
    if (child < 0) return os_error(-child, "starting " + *path);
    input = Descriptor();
    return wait_for_output(child, output.get(), name);
  }

 private:
  // Where it is on this system. Of a scratch root links are followed inside it before anything is
  // run; here they are left to the kernel, because programs look at the name they were called by.
  std::optional<std::string> find(std::string_view name) const {
    if (name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
    for (const std::string_view folder : folders) {
      const std::string path = fmt::format("{}/{}", folder, name);
      const auto whole = files_.resolve(path);
      if (!whole) continue;
      const auto entry = files_.look(*whole);
      if (entry && *entry && (*entry)->kind == EntryKind::file &&
          ((*entry)->attributes.mode & 0111U) != 0) {
        return files_.is_real() ? path : prefix_ + *whole;
      }
    }
    return std::nullopt;
  }

  Error absent(const std::string& name) const {
    return {Errc::not_found,
            fmt::format("expected the program \"{}\" in one of {}, found none", name,
                        join({folders.begin(), folders.end()}, ", ")),
            fmt::format("install the package of this distribution that has {}", name)};
  }

  WritableFiles files_;
  std::string prefix_;
  std::vector<std::string> environment_;
};

}  // namespace

Result<std::unique_ptr<Programs>> make_programs(const std::string& root) {
  HEADROOM_TRY(WritableFiles files, WritableFiles::open(root));
  std::string prefix;
  if (!files.is_real()) {
    const std::unique_ptr<char, void (*)(void*)> whole(::realpath(root.c_str(), nullptr),
                                                       std::free);
    if (!whole) return os_error(errno, "resolving " + root);
    prefix = whole.get();
  }
  return std::unique_ptr<Programs>(
      std::make_unique<MachinePrograms>(std::move(files), std::move(prefix)));
}

}  // namespace headroom::machine
