// SPDX-License-Identifier: Apache-2.0
// The examples of FIPS 180-4 (NIST, "SHA-256 examples" and the million "a" of FIPS 180-2).
#include "machine/checksum.h"

#include <gtest/gtest.h>

#include "support/scratch_root.h"

namespace headroom::machine {
namespace {

TEST(Checksum, the_standards_examples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Checksum, of_a_file_is_that_of_its_bytes) {
  const headroom::testing::ScratchRoot root;
  root.write("/long", std::string(1000000, 'a'));
  root.write("/zero", std::string("a\0b", 3));
  root.link("/link", "/long");
  const WritableFiles files = *WritableFiles::open(root.string());
  EXPECT_EQ(*sha256_of(files, "/link"), sha256(std::string(1000000, 'a')));
  EXPECT_EQ(*sha256_of(files, "/zero"), sha256(std::string("a\0b", 3)));
  EXPECT_EQ(sha256_of(files, "/none").error().code, Errc::not_found);
}

}  // namespace
}  // namespace headroom::machine
