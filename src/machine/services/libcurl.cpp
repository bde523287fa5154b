// SPDX-License-Identifier: Apache-2.0
#include "machine/services/libcurl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

#include "machine/symbols.h"

namespace headroom::machine {
namespace {

// The same functions, whichever library they take their TLS from.
constexpr std::array<const char*, 3> names{"libcurl.so.4", "libcurl-gnutls.so.4",
                                           "libcurl-nss.so.4"};

Error not_there(const std::string& why) {
  return {Errc::unsupported,
          fmt::format("asking a service needs libcurl, which cannot be used here ({})", why),
          "sudo apt install libcurl4   (Fedora: sudo dnf install libcurl; Arch: sudo pacman -S "
          "curl)"};
}

void find_all(Symbols& symbols, Libcurl& it) {
  symbols.find(it.global_init, "curl_global_init");
  symbols.find(it.easy_init, "curl_easy_init");
  symbols.find(it.easy_cleanup, "curl_easy_cleanup");
  symbols.find(it.easy_setopt, "curl_easy_setopt");
  symbols.find(it.easy_getinfo, "curl_easy_getinfo");
  symbols.find(it.easy_strerror, "curl_easy_strerror");
  symbols.find(it.slist_append, "curl_slist_append");
  symbols.find(it.slist_free_all, "curl_slist_free_all");
  symbols.find(it.multi_init, "curl_multi_init");
  symbols.find(it.multi_cleanup, "curl_multi_cleanup");
  symbols.find(it.multi_add_handle, "curl_multi_add_handle");
  symbols.find(it.multi_remove_handle, "curl_multi_remove_handle");
  symbols.find(it.multi_perform, "curl_multi_perform");
  symbols.find(it.multi_poll, "curl_multi_poll");  // Since 7.66.
  symbols.find(it.multi_info_read, "curl_multi_info_read");
}

}  // namespace

Result<Libcurl> Libcurl::load() {
  std::string why;
  for (const char* name : names) {
    // Never closed: TLS libraries below it keep state of their own.
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* said = ::dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread.
      if (why.empty() && said != nullptr) why = said;
      continue;
    }
    Libcurl it;
    Symbols symbols(library);
    find_all(symbols, it);
    if (!symbols.missing().empty())
      return not_there(std::string(name) + " lacks " + symbols.missing());
    constexpr long everything = 3;  // CURL_GLOBAL_ALL
    if (it.global_init(everything) != ok) return not_there("it does not start");
    return it;
  }
  return not_there(why);
}

}  // namespace headroom::machine
