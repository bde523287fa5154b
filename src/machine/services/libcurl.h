// SPDX-License-Identifier: Apache-2.0
// libcurl, opened at run time: only `deploy` asks a service anything, and `check` starts without
// it. The functions and numbers that are used, as curl.h and multi.h of libcurl 7.68 and later
// declare them (shared object version 4 since 2006; libcurl_test.cpp holds them against the headers
// where those are installed).
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::machine {

struct Libcurl {
  // CURLOPT_… that take a long, a pointer or a function.
  enum Option : int {
    no_body = 44,
    follow_location = 52,
    post_field_size = 60,
    max_redirects = 68,
    fresh_connect = 74,
    forbid_reuse = 75,
    no_signal = 99,
    timeout_ms = 155,
    protocols = 181,
    redirect_protocols = 182,
    write_data = 10001,
    url = 10002,
    proxy = 10004,
    error_buffer = 10010,
    user_agent = 10018,
    http_header = 10023,
    custom_request = 10036,
    post_fields = 10015,
    private_pointer = 10103,
    write_function = 20011,
  };
  static constexpr long http_and_https = 1 | 2;        // CURLPROTO_HTTP | CURLPROTO_HTTPS
  static constexpr int error_buffer_size = 256;        // CURL_ERROR_SIZE
  static constexpr int info_response_code = 0x200002;  // A long.
  static constexpr int info_private = 0x100015;        // A pointer.
  static constexpr int info_total_time = 0x600032;     // Microseconds in 64 bits.
  static constexpr int message_done = 1;               // CURLMSG_DONE
  // CURLcode, as far as they are told apart.
  enum Code : int {
    ok = 0,
    unresolved = 6,
    not_connected = 7,
    timed_out = 28,
    nothing = 52,
    send_failed = 55,
    receive_failed = 56,
    partial = 18
  };

  struct Message {  // CURLMsg
    int kind;
    void* easy;
    union {
      void* whatever;
      int code;
    } data;
  };

  // Fails with unsupported, and the command that installs it.
  static Result<Libcurl> load();

  int (*global_init)(long) = nullptr;
  void* (*easy_init)() = nullptr;
  void (*easy_cleanup)(void*) = nullptr;
  int (*easy_setopt)(void*, int, ...) = nullptr;
  int (*easy_getinfo)(void*, int, ...) = nullptr;
  const char* (*easy_strerror)(int) = nullptr;
  void* (*slist_append)(void*, const char*) = nullptr;
  void (*slist_free_all)(void*) = nullptr;
  void* (*multi_init)() = nullptr;
  int (*multi_cleanup)(void*) = nullptr;
  int (*multi_add_handle)(void*, void*) = nullptr;
  int (*multi_remove_handle)(void*, void*) = nullptr;
  int (*multi_perform)(void*, int*) = nullptr;
  int (*multi_poll)(void*, void*, unsigned, int, int*) = nullptr;
  Message* (*multi_info_read)(void*, int*) = nullptr;
};

}  // namespace headroom::machine
