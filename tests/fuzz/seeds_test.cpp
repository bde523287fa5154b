// SPDX-License-Identifier: Apache-2.0
// Every fuzzer over its seeds, built by any compiler: what was found once stays found, and a change
// of a parser's interface cannot leave its fuzzer behind. `./dev fuzz` searches for more.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

// The build compiles NAME_fuzz.cpp with LLVMFuzzerTestOneInput renamed to fuzz_NAME, and lists the
// names in HEADROOM_FUZZERS as X(name) X(name) …
#define X(name) extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);
HEADROOM_FUZZERS
#undef X

namespace headroom::fuzz {
namespace {

struct Fuzzer {
  const char* name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};
std::ostream& operator<<(std::ostream& out, const Fuzzer& fuzzer) {
  return out << fuzzer.name;
}

#define X(name) Fuzzer{#name, fuzz_##name},
const std::vector<Fuzzer> fuzzers = {HEADROOM_FUZZERS};
#undef X

class Seeds : public testing::TestWithParam<Fuzzer> {};

TEST_P(Seeds, keep_the_parsers_promises) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HEADROOM_CORPUS "/") + GetParam().name))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename());
    std::ifstream in(file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    GetParam().run(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzzers, Seeds, testing::ValuesIn(fuzzers),
                         [](const auto& fuzzer) { return std::string(fuzzer.param.name); });

}  // namespace
}  // namespace headroom::fuzz
