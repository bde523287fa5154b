// SPDX-License-Identifier: Apache-2.0
// The settings of `check --if`, one a line, and the prediction that follows for an APU.
#include "base/text.h"
#include "facts/what_if.h"
#include "fuzz.h"

namespace headroom::fuzz {
namespace {

facts::Facts apu() {
  using facts::Source;
  facts::Facts facts;
  facts.machine.kernel = {"6.17.0", Source{"/kernel", 0, ""}};
  facts.machine.memory.total = {Bytes{std::uint64_t{1} << 37U}, Source{"/meminfo", 1, ""}};
  facts::Gpu gpu;
  gpu.integrated = {true, Source{"/id", 0, ""}};
  gpu.vram_total = {Bytes{std::uint64_t{1} << 29U}, Source{"/vram", 0, ""}};
  facts.gpus = {gpu};
  return facts;
}

}  // namespace
}  // namespace headroom::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;
  std::vector<std::string> words;
  for (const std::string_view line : split_lines(fuzz::to_text(data, size))) {
    words.emplace_back(line);
  }
  const auto change = facts::parse_what_if(words);
  if (!change) {
    fuzz::require(!change.error().message.empty() && !change.error().next.empty());
    return 0;
  }
  const auto prediction = facts::predict(fuzz::apu(), *change);
  fuzz::require(prediction.facts.gpus.size() == 1);
  fuzz::require(!prediction.facts.gpus[0].ladder.rungs.empty());
  return 0;
}
