// SPDX-License-Identifier: Apache-2.0
// Compares text with a file of expected text; with HEADROOM_UPDATE_GOLDEN=1 rewrites the file
// instead.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace headroom::testing {

::testing::AssertionResult matches_golden(const std::string& path, const std::string& text);

}  // namespace headroom::testing
