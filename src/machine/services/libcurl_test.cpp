// SPDX-License-Identifier: Apache-2.0
// The numbers by which libcurl is spoken to, held against its headers where those are installed.
// In any case http_test.cpp holds them against a server.
#include "machine/services/libcurl.h"

#include <gtest/gtest.h>

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>
#define HEADROOM_HAS_CURL_HEADERS
#endif

namespace headroom::machine {
namespace {

TEST(Libcurl, numbers_are_those_of_its_headers) {
#ifndef HEADROOM_HAS_CURL_HEADERS
  GTEST_SKIP() << "libcurl's headers are not installed (libcurl4-openssl-dev)";
#else
  EXPECT_EQ(Libcurl::no_body, CURLOPT_NOBODY);
  EXPECT_EQ(Libcurl::follow_location, CURLOPT_FOLLOWLOCATION);
  EXPECT_EQ(Libcurl::post_field_size, CURLOPT_POSTFIELDSIZE);
  EXPECT_EQ(Libcurl::max_redirects, CURLOPT_MAXREDIRS);
  EXPECT_EQ(Libcurl::fresh_connect, CURLOPT_FRESH_CONNECT);
  EXPECT_EQ(Libcurl::forbid_reuse, CURLOPT_FORBID_REUSE);
  EXPECT_EQ(Libcurl::no_signal, CURLOPT_NOSIGNAL);
  EXPECT_EQ(Libcurl::timeout_ms, CURLOPT_TIMEOUT_MS);
  EXPECT_EQ(Libcurl::protocols, 181);           // CURLOPT_PROTOCOLS, which newer headers deprecate.
  EXPECT_EQ(Libcurl::redirect_protocols, 182);  // CURLOPT_REDIR_PROTOCOLS, likewise.
  EXPECT_EQ(Libcurl::write_data, CURLOPT_WRITEDATA);
  EXPECT_EQ(Libcurl::url, CURLOPT_URL);
  EXPECT_EQ(Libcurl::proxy, CURLOPT_PROXY);
  EXPECT_EQ(Libcurl::error_buffer, CURLOPT_ERRORBUFFER);
  EXPECT_EQ(Libcurl::user_agent, CURLOPT_USERAGENT);
  EXPECT_EQ(Libcurl::http_header, CURLOPT_HTTPHEADER);
  EXPECT_EQ(Libcurl::custom_request, CURLOPT_CUSTOMREQUEST);
  EXPECT_EQ(Libcurl::post_fields, CURLOPT_POSTFIELDS);
  EXPECT_EQ(Libcurl::private_pointer, CURLOPT_PRIVATE);
  EXPECT_EQ(Libcurl::write_function, CURLOPT_WRITEFUNCTION);
  EXPECT_EQ(Libcurl::error_buffer_size, CURL_ERROR_SIZE);
  EXPECT_EQ(Libcurl::info_response_code, CURLINFO_RESPONSE_CODE);
  EXPECT_EQ(Libcurl::info_private, CURLINFO_PRIVATE);
  EXPECT_EQ(Libcurl::info_total_time, CURLINFO_TOTAL_TIME_T);
  EXPECT_EQ(Libcurl::message_done, CURLMSG_DONE);
  EXPECT_EQ(Libcurl::timed_out, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(sizeof(Libcurl::Message), sizeof(CURLMsg));
#endif
}

}  // namespace
}  // namespace headroom::machine
