// SPDX-License-Identifier: Apache-2.0
// edit_text of units and quadlets: what was edited once is as it should be.
#include "deploy/edit.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  deploy::TypedSet set;
  set.environment = {{"A", "100% \"$x\" \\"}};
  set.devices = {"/dev/kfd"};
  set.groups = {"render"};
  set.memory = Bytes{std::uint64_t{1} << 30U};
  set.command = {"/bin/serve", "a b", "$c"};
  const std::string_view text = fuzz::to_text(data, size);
  for (const auto kind : {deploy::FileKind::unit, deploy::FileKind::quadlet}) {
    const deploy::EditTarget target{kind, "ml.conf", "", ""};
    const auto edited = deploy::edit_text(target, text, set);
    if (!edited) {
      fuzz::require(!edited.error().message.empty());
      continue;
    }
    const auto again = deploy::edit_text(target, *edited, set);
    fuzz::require(again && *again == *edited);
  }
  return 0;
}
