// SPDX-License-Identifier: Apache-2.0
#include "allocator/backends/self_test_cache_file.h"

#include <stdlib.h>

#include <utility>

#include "machine/user_files.h"

namespace headroom::allocator {
namespace {

constexpr std::size_t file_max_bytes = std::size_t{4} << 20U;

}  // namespace

std::string self_test_path(std::string_view xdg_cache_home, std::string_view home) {
  constexpr std::string_view file = "/headroom/virtual-memory.json";
  if (xdg_cache_home.starts_with('/')) return std::string(xdg_cache_home) += file;
  if (home.starts_with('/')) return (std::string(home) += "/.cache") += file;
  return "";
}

std::string self_test_path_of_caller() {
  const char* cache = ::secure_getenv("XDG_CACHE_HOME");
  const char* home = ::secure_getenv("HOME");
  return self_test_path(cache == nullptr ? "" : cache, home == nullptr ? "" : home);
}

Result<SelfTestCache> read_self_test_cache(const std::string& path) {
  const auto text = machine::read_file(path, file_max_bytes);
  if (!text && text.error().code == Errc::not_found) return SelfTestCache{};
  if (!text) return text.error();
  auto cache = parse_cache(*text);
  if (cache) return cache;
  Error error = std::move(cache).error().in(path);
  error.next = "rm " + path + "   (the self-tests then run again)";
  return error;
}

Status keep_self_test_result(const std::string& path, SelfTestResult result) {
  auto cache = read_self_test_cache(path);
  if (!cache && cache.error().code != Errc::invalid) return std::move(cache).error();
  SelfTestCache results = cache ? *std::move(cache) : SelfTestCache{};
  results.put(std::move(result));
  return machine::write_file_atomic(path, format_cache(results));
}

}  // namespace headroom::allocator
