// SPDX-License-Identifier: Apache-2.0
#include "trainer/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "machine/os_error.h"

namespace headroom::trainer {
namespace {

Error failed(const std::string& path) {
  Error error = machine::os_error(errno, "writing " + path);
  if (error.code == Errc::no_space) {
    error.next =
        "free space there or choose another folder with --output, then go on from the last "
        "checkpoint with --resume";
  }
  return error;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string beside, machine::Descriptor file)
    : path_(std::move(path)), beside_(std::move(beside)), file_(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      file_(std::move(other.file_)) {}

AtomicFile::~AtomicFile() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  std::string beside = path + ".XXXXXX";
  machine::Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
  if (file.get() < 0) return failed(path);
  return AtomicFile(path, beside, std::move(file));
}

Status AtomicFile::write(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(file_.get(), next, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path_);
    next += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return Done{};
}

Status AtomicFile::commit() {
  constexpr mode_t usual_permissions = 0644;
  if (::fchmod(file_.get(), usual_permissions) != 0 || ::fsync(file_.get()) != 0) {
    return failed(path_);
  }
  if (::rename(beside_.c_str(), path_.c_str()) != 0) return failed(path_);
  beside_.clear();
  // The rename itself is on disk once the folder is.
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const machine::Descriptor fd(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return failed(path_);
  return Done{};
}

}  // namespace headroom::trainer
