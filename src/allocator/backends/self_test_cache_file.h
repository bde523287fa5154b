// SPDX-License-Identifier: Apache-2.0
// The results of self-tests on disk. The caller names the file; a user's own is virtual-memory.json
// in headroom's folder below $XDG_CACHE_HOME. If it is deleted, the tests have to run again.
#pragma once

#include <string>

#include "allocator/self_test/self_test_record.h"
#include "base/result.h"

namespace headroom::allocator {

// Returns an empty cache if there is no file. Fails if the file cannot be read or makes no sense.
Result<SelfTestCache> read_self_test_cache(const std::string& path);

// Adds a result to the file, atomically. A file that makes no sense is replaced; its folder must
// exist. If two processes do this at once, the later one wins.
Status keep_self_test_result(const std::string& path, SelfTestResult result);

}  // namespace headroom::allocator
