// SPDX-License-Identifier: Apache-2.0
#include "machine/checksum.h"

#include <sha2.h>
#include <sys/types.h>

#include <array>

namespace headroom::machine {
namespace {

class Sha256 {
 public:
  Sha256() { ::SHA256Init(&state_); }
  void add(std::string_view bytes) {
    ::SHA256Update(&state_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::string digits() {
    std::array<char, SHA256_DIGEST_STRING_LENGTH> text{};
    return ::SHA256End(&state_, text.data());
  }

 private:
  SHA2_CTX state_{};
};

}  // namespace

std::string sha256(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.digits();
}

Result<std::string> sha256_of(const WritableFiles& files, std::string_view path) {
  Sha256 sum;
  HEADROOM_CHECK(files.read_pieces(path, [&](std::string_view piece) -> Status {
    sum.add(piece);
    return Done{};
  }));
  return sum.digits();
}

}  // namespace headroom::machine
