// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pickle: what it parses to can be walked in time and memory that its length bounds.
#include <vector>

#include "allocator/snapshot/pickle.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

using allocator::Pickle;
using allocator::PickleKind;
using allocator::PickleValue;

// Each list, tuple and dict is looked into once, however often it is there.
void walk(const Pickle& pickle, std::size_t bytes) {
  std::vector<bool> seen(pickle.container_count());
  std::vector<PickleValue> waiting = {pickle.root()};
  std::size_t items = 0;
  while (!waiting.empty()) {
    const PickleValue value = waiting.back();
    waiting.pop_back();
    require(value.kind() != PickleKind::absent);
    if (const auto number = pickle.to_unsigned(value)) require(value.kind() == PickleKind::integer);
    if (const auto text = pickle.to_text(value)) require(text->size() <= bytes * 3);
    (void)pickle.to_signed(value);
    (void)pickle.to_real(value);
    (void)pickle.to_bool(value);
    if (value.kind() < PickleKind::list || seen[pickle.identity(value)]) continue;
    seen[pickle.identity(value)] = true;
    require(value.kind() != PickleKind::dict || pickle.size(value) % 2 == 0);
    std::size_t here = 0;
    pickle.each(value, [&](PickleValue item) {
      ++here;
      waiting.push_back(item);
      return true;
    });
    require(here == pickle.size(value));
    items += here;
    (void)pickle.field(value, "segments");
  }
  require(items <= bytes);
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  const auto pickle = allocator::parse_pickle(fuzz::to_text(data, size));
  if (!pickle) {
    fuzz::require(pickle.error().message.starts_with("byte "));
    fuzz::require(!pickle.error().next.empty());
    return 0;
  }
  fuzz::walk(*pickle, size);
  return 0;
}
