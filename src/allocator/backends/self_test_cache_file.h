// SPDX-License-Identifier: Apache-2.0
// The results of self-tests on disk. Which file is the caller's to say; a person's is
// virtual-memory.json in headroom's folder below $XDG_CACHE_HOME, where `headroom test` keeps them.
// Deleting it does no harm but that virtual memory is not used until the tests have run again.
#pragma once

#include <string>
#include <string_view>

#include "allocator/self_test/self_test_record.h"
#include "base/result.h"

namespace headroom::allocator {

// A person's file (XDG Base Directory Specification), by what the two variables say; empty where
// neither names a folder.
std::string self_test_path(std::string_view xdg_cache_home, std::string_view home);
// The same of this process's environment, which nobody believes in a program that has more rights
// than its caller.
std::string self_test_path_of_caller();

// Returns an empty cache if there is no file. Fails if the file cannot be read or makes no sense.
Result<SelfTestCache> read_self_test_cache(const std::string& path);

// Adds a result to the file, atomically. A file that makes no sense is replaced; its folder must
// exist. If two processes do this at once, the later one wins.
Status keep_self_test_result(const std::string& path, SelfTestResult result);

}  // namespace headroom::allocator
