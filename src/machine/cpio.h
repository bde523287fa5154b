// SPDX-License-Identifier: Apache-2.0
// cpio archives as the kernel unpacks them into its first root (kernel: init/initramfs.c and
// Documentation/driver-api/early-userspace/buffer-format.rst): "newc" and its form with checksums,
// each archive ended by an entry TRAILER!!!, zero bytes between archives. Strict where the kernel
// is: what it would stumble over is an error here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "machine/byte_source.h"

namespace headroom::machine {

struct CpioEntry {
  std::string name;  // Without slashes at its start, and without "./"; empty for the root itself.
  std::uint32_t mode = 0;  // With the kind, as stat(2) has it.
  std::uint32_t links = 0;
  std::uint64_t size = 0;
  // Device and inode: names of one file with links > 1 share it, and only one of them, any, has
  // the bytes. Valid until the archive ends.
  std::string file_id;

  bool is_file() const { return (mode & 0170000U) == 0100000U; }
  bool is_link() const { return (mode & 0170000U) == 0120000U; }
};

class CpioVisitor {
 public:
  virtual ~CpioVisitor() = default;
  // Whether the bytes of this regular file are wanted.
  virtual bool wants(const CpioEntry& entry) = 0;
  // Every entry, in order. `bytes` are those of a wanted file, or what a link says. An error ends
  // the walk.
  virtual Status visit(const CpioEntry& entry, std::string bytes) = 0;
  virtual void archive_ends() {}
};

// What a stranger's image may ask of this machine.
struct CpioLimits {
  std::uint64_t entries = 2'000'000;
  std::uint64_t wanted_bytes = std::uint64_t{16} << 20U;  // Of one wanted file.
};

// Reads one archive; the stream stands at its first byte, and behind its trailer afterwards. Fails
// with invalid on what is no cpio archive, is cut short or exceeds the limits.
class CpioReader {
 public:
  CpioReader(ByteStream& stream, CpioVisitor& visitor, CpioLimits& left)
      : stream_(stream), visitor_(visitor), left_(left) {}
  // `start`: those first bytes of its header that were read already, six at most.
  Status read_archive(std::string_view start);

 private:
  struct Header;
  Status read_exactly(char* to, std::size_t count);
  Status skip_exactly(std::uint64_t count);
  Result<Header> read_header(std::string_view start);
  Result<std::string> read_name(std::uint64_t length);
  Result<std::string> read_body(const CpioEntry& entry);

  ByteStream& stream_;
  CpioVisitor& visitor_;
  CpioLimits& left_;  // entries counts down.
};

}  // namespace headroom::machine
