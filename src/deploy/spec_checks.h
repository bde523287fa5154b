// SPDX-License-Identifier: Apache-2.0
// What SERVICE.toml's values must be beyond their types. Each keeps its error in the reader of the
// table that the value stands in.
#pragma once

#include <string>
#include <string_view>

#include "base/document_reader.h"
#include "deploy/spec.h"

namespace headroom::deploy {

void check_service(TableReader& table, const ServiceName& service);
// A command line: a list, not one text; its first word is not empty, and no word holds a NUL.
void check_command(TableReader& table, std::string_view key,
                   const std::vector<std::string>& command);
// One [[tune]], after those that stand before it.
void check_tune(TableReader& table, const TuneSetting& setting,
                const std::vector<TuneSetting>& earlier);
void check_set(TableReader& table, const TypedSet& set);
void check_change(TableReader& table, const FileChange& change);
void check_request(TableReader& table, const Request& request);
// Of a smoke test by command: the keys of a request make no sense there.
void refuse_without_url(TableReader& table);
void check_smoke(TableReader& table, const Smoke& smoke);

// http or https, with a host, without a user's name or password and without blanks. The message
// does not repeat what may be a secret.
void check_url(TableReader& table, std::string_view key, const std::string& url);
void check_pointer(TableReader& table, std::string_view key, const std::string& pointer);

}  // namespace headroom::deploy
