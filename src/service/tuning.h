// SPDX-License-Identifier: Apache-2.0
// Tuning a service from beginning to end: what an earlier deployment left is finished first; then
// the present settings are measured, each setting that the search (tune/search.h) asks for is tried
// by a deployment that always goes back (deploy::Trial), and the best one is deployed as any other
// change is, or the present one stays.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "service/deployment.h"
#include "tune/outcome.h"

namespace headroom::service {

struct TuneOrder {
  DeployOrder deploy;  // `force` and `only_finish` are not looked at.
  std::uint64_t cores = 1;
  tune::WorthQuestion worth;
};

struct TuneDone {
  tune::TuneReport report;
  // SERVICE.toml, or a file that it names, is wrong; nothing else in here counts then.
  std::optional<Error> mistake;
  // An interrupted deployment or tuning was finished, and nothing else was done.
  std::optional<DeployDone> finished;
};

// Fails as deploy_service() does. Without `apply` nothing is touched and nothing is asked.
Result<TuneDone> tune_service(const TuneOrder& order);

}  // namespace headroom::service
