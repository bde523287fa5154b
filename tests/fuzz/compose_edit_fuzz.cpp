// SPDX-License-Identifier: Apache-2.0
// edit_text of a compose file: what was edited once is as it should be.
#include "deploy/edit.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  deploy::TypedSet set;
  set.image = "ml:rocm";
  set.environment = {{"A", "$1: #"}};
  set.devices = {"/dev/kfd"};
  set.memory = Bytes{std::uint64_t{1} << 30U};
  set.command = {"serve", "--gpu"};
  const deploy::EditTarget target{deploy::FileKind::compose, "compose.yaml", "ml", ""};
  const auto edited = deploy::edit_text(target, fuzz::to_text(data, size), set);
  if (!edited) {
    fuzz::require(!edited.error().message.empty());
    return 0;
  }
  const auto again = deploy::edit_text(target, *edited, set);
  fuzz::require(again && *again == *edited);
  return 0;
}
