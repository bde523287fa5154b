// SPDX-License-Identifier: Apache-2.0
// A log with the real signatures: in one piece and in pieces of sizes that its first byte chooses
// it gives the same observations, whose texts can be shown.
#include <string>

#include "fuzz.h"
#include "logs/log_reader.h"

namespace {

using namespace headroom;
using namespace headroom::fuzz;

struct Tables {
  knowledge::SignatureTable signatures = *knowledge::load_signatures();
  logs::Matcher matcher = *logs::Matcher::make(signatures);
};

std::string read(std::string_view log, std::size_t piece, const logs::Matcher& matcher) {
  logs::Observations observations;
  logs::LogReader reader(matcher, observations, 0);
  for (std::size_t at = 0; at < log.size(); at += piece) reader.feed(log.substr(at, piece));
  reader.finish();
  std::string told;
  for (const logs::Observation& one : observations.all()) {
    require(one.line >= 1 && one.line <= reader.lines());
    require(logs::to_shown(one.text, one.text.size()) == one.text);
    told += one.id() + "\t" + std::to_string(one.line) + "\t" + one.time + "\t" + one.origin +
            "\t" + one.text;
    for (const auto& [name, value] : one.values) told += "\t" + name + "=" + value;
    for (const std::string& line : one.output) told += "\t>" + line;
    told += "\n" + std::to_string(observations.count_of(one.id())) + "\n";
  }
  return told;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tables tables;
  if (size == 0) return 0;
  const std::string_view log = to_text(data, size).substr(1);
  const std::size_t piece = std::size_t{data[0]} % 61 + 1;
  require(read(log, piece, tables.matcher) == read(log, log.size() + 1, tables.matcher));
  return 0;
}
