// SPDX-License-Identifier: Apache-2.0
// Initramfs images, plain and compressed: whatever the bytes are, the answer is a name's bytes,
// "not there" or an error with its reason; and what can be read can be listed.
#include "fuzz.h"
#include "machine/initramfs_image.h"
#include "machine/testing/newc.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  using namespace headroom::fuzz;
  const MemoryBytes image(to_text(data, size));
  const auto names = machine::list_initramfs(image);
  const auto found = machine::read_from_initramfs(image, "/etc/modprobe.d/ttm.conf");
  require(!found || names);
  require(found || !found.error().message.empty());
  require(names || !names.error().message.empty());
  require(!found || !*found || !names->empty());
  return 0;
}
