// SPDX-License-Identifier: Apache-2.0
// The results of self-tests on disk. Which file is the caller's to say; a person's is
// virtual-memory.json in headroom's folder below $XDG_CACHE_HOME. Deleting it does no harm but that
// the tests run again.
#pragma once

#include <string>

#include "allocator/self_test/self_test_record.h"
#include "base/result.h"

namespace headroom::allocator {

// Empty where the file is not there. Fails where it cannot be read or makes no sense.
Result<SelfTestCache> read_self_test_cache(const std::string& path);

// Adds a result to what is there, atomically. A file that makes no sense is replaced. Its folder
// must be there. Of two processes that do so at once the later wins.
Status keep_self_test_result(const std::string& path, SelfTestResult result);

}  // namespace headroom::allocator
