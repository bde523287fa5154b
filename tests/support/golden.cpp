// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/text.h"
#include "machine/user_files.h"

namespace headroom::testing {
namespace {

// The first line that differs, of both.
std::string difference(const std::string& expected, const std::string& found) {
  const auto want = split_lines(expected);
  const auto have = split_lines(found);
  for (std::size_t i = 0; i < std::max(want.size(), have.size()); ++i) {
    const std::string_view a = i < want.size() ? want[i] : "(end)";
    const std::string_view b = i < have.size() ? have[i] : "(end)";
    if (a != b) return fmt::format("line {}:\n  expected {}\n  found    {}", i + 1, a, b);
  }
  return "line ends";
}

}  // namespace

::testing::AssertionResult matches_golden(const std::string& path, const std::string& text) {
  const char* update = std::getenv("HEADROOM_UPDATE_GOLDEN");  // NOLINT(concurrency-mt-unsafe)
  if (update != nullptr && std::string_view(update) == "1") {
    const auto written = machine::write_file_atomic(path, text);
    return written ? ::testing::AssertionSuccess()
                   : ::testing::AssertionFailure() << written.error().message;
  }
  const auto expected = machine::read_file(path);
  if (!expected) {
    return ::testing::AssertionFailure() << expected.error().message << "; ./dev golden writes it";
  }
  if (*expected == text) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << path << ", " << difference(*expected, text) << "\n./dev golden accepts it";
}

}  // namespace headroom::testing
