// SPDX-License-Identifier: Apache-2.0
#include "service/deployment.h"

#include <fmt/format.h>

#include <utility>

#include "base/shell_quote.h"
#include "service/ask.h"
#include "service/driver.h"
#include "service/workplace.h"

namespace headroom::service {
namespace {

DeployDone mistake(Error error) {
  return {{}, {}, std::move(error)};
}

// For `--root` of another machine, and without --apply: nothing that acts is made.
Result<DeployDone> judge_only(const Workplace& place, const plan::Change& change,
                              std::optional<Bytes> predicted) {
  const DeployOrder& order = place.order();
  const std::string folder = folder_of(order.file);
  const GateQuestion gate{order.spec, folder, order.state, change, place.service(), predicted};
  Driver driver(place.workshop(order.spec, gate, change),
                deploy::Deployer(order.spec, place.options(order.file)));
  HEADROOM_TRY(auto report, driver.run(deploy::event::Begin{}));
  if (order.apply && report.outcome == deploy::Outcome::planned) {
    return Error{
        Errc::not_this_system,
        fmt::format("{} would pass the gate, but it is not this system, so nothing was done",
                    order.root),
        shell_line(order.words) + "   (without --apply), or --apply on that machine"};
  }
  return DeployDone{std::move(report), change, {}};
}

Result<DeployDone> begin(Workplace& place) {
  const DeployOrder& order = place.order();
  const std::string folder = folder_of(order.file);
  const bool applies = order.apply && place.acts();
  HEADROOM_CHECK(place.look());
  auto change =
      read_change(order.spec, folder, applies ? nullptr : &place.machine().root.files, order.words);
  if (!change) {
    if (change.error().code == Errc::no_permission) return change.error();
    return mistake(change.error());
  }
  const auto body = read_body(order.spec.smoke, folder);
  if (!body) return mistake(body.error());
  const auto predicted = predict_device(order.spec, folder);
  if (!predicted) return mistake(predicted.error());
  if (!applies) {
    // How much memory it takes now matters to the gate, on this machine.
    if (order.root == "/") (void)place.make_hands(order.spec, order.file);
    return judge_only(place, *change, *predicted);
  }
  HEADROOM_CHECK(check_rights(*change, order.words));
  HEADROOM_CHECK(place.make_hands(order.spec, order.file));
  HEADROOM_TRY(const auto asker, place.make_asker(order.spec, folder, *body));
  HEADROOM_CHECK(place.take_lock());
  HEADROOM_CHECK(place.begin_acting(*body));
  const GateQuestion gate{order.spec, folder, order.state, *change, place.service(), *predicted};
  Workshop shop = place.workshop(order.spec, gate, *change);
  shop.asker = asker.get();
  shop.places = &place.places();
  Driver driver(std::move(shop), deploy::Deployer(order.spec, place.options(order.file)));
  HEADROOM_TRY(auto report, driver.run(deploy::event::Begin{}));
  return DeployDone{std::move(report), *change, {}};
}

}  // namespace

Result<DeployDone> deploy_service(const DeployOrder& order) {
  HEADROOM_TRY(auto files, machine::WritableFiles::open("/"));
  watch_files(files, order);
  Workplace place(order, files);
  HEADROOM_TRY(auto finished, place.finish_earlier());
  if (finished) return *std::move(finished);
  if (order.only_finish) {
    return Error{Errc::not_found,
                 fmt::format("expected an interrupted deployment of {}, found none",
                             order.spec.service.name),
                 "headroom deploy --status"};
  }
  return begin(place);
}

}  // namespace headroom::service
