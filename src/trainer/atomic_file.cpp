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

namespace fs = std::filesystem;

Error failed(const std::string& path) {
  return machine::os_error(errno, "writing " + path);
}

constexpr const char* part_infix = ".part-";

}  // namespace

void remove_parts(const std::string& path) {
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + part_infix;
  std::error_code problem;  // What cannot be looked at or removed stays, and takes its space.
  for (fs::directory_iterator entry(whole.parent_path(), problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    constexpr std::size_t random_letters = 6;
    if (name.starts_with(prefix) && name.size() == prefix.size() + random_letters)
      ::unlink(entry->path().c_str());
  }
}

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
  std::string beside = path + part_infix + "XXXXXX";
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
  const fs::path folder = fs::path(path_).parent_path();
  const machine::Descriptor fd(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0 || ::fsync(fd.get()) != 0) return failed(path_);
  return Done{};
}

}  // namespace headroom::trainer
