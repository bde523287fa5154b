// SPDX-License-Identifier: Apache-2.0
#include "report/links_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;
using facts::Fact;

std::string reason(const facts::Missing& missing, const facts::Source& source) {
  return (source.path.empty() ? "" : source.path + ": ") + to_string(missing);
}

template <class T>
Ordered plain(const Fact<T>& fact, const std::string& at, MissingReasons& missing) {
  if (fact) return *fact;
  missing[at] = reason(fact.missing(), fact.source());
  return nullptr;
}

template <class T>
Ordered word(const Fact<T>& fact, const std::string& at, MissingReasons& missing) {
  if (fact) return to_string(*fact);
  missing[at] = reason(fact.missing(), fact.source());
  return nullptr;
}

Ordered torch_json(const facts::PythonStack& python, MissingReasons& missing) {
  if (python.torch_folder.empty()) {
    missing["/python/torch"] = python.folders.empty() ? "no folder of packages was found"
                                                      : "not in any of the folders of packages";
    return nullptr;
  }
  const facts::Torch& torch = python.torch;
  const std::string at = "/python/torch";
  Ordered object;
  object["path"] = python.torch_folder;
  object["version"] = plain(torch.version, at + "/version", missing);
  object["build"] = word(torch.kind, at + "/build", missing);
  object["rocm"] = plain(torch.rocm, at + "/rocm", missing);
  object["hip"] = plain(torch.hip, at + "/hip", missing);
  object["cuda"] = plain(torch.cuda, at + "/cuda", missing);
  object["targets"] = plain(torch.targets, at + "/targets", missing);
  object["attention"] = plain(torch.attention, at + "/attention", missing);
  return object;
}

}  // namespace

Ordered pcie_json(const facts::Connection& connection, const std::string& at,
                  MissingReasons& missing) {
  Ordered object;
  const facts::PcieHop* hop = facts::weakest(connection.hops);
  if (hop == nullptr) {
    const bool listed = !connection.hops.empty();
    const facts::PcieHop first = listed ? connection.hops.front() : facts::PcieHop{};
    const Fact<double>& speed = first.speed;
    missing[at] = listed ? reason(speed ? first.width.missing() : speed.missing(),
                                  speed ? first.width.source() : speed.source())
                         : to_string(connection.no_hops);
    return nullptr;
  }
  object["width"] = *hop->width;
  object["possible_width"] = plain(hop->possible_width, at + "/possible_width", missing);
  object["gigatransfers_per_s"] = *hop->speed;
  object["possible_gigatransfers_per_s"] =
      plain(hop->possible_speed, at + "/possible_gigatransfers_per_s", missing);
  object["between"] =
      hop->upper.empty() ? Ordered::array({hop->lower}) : Ordered::array({hop->lower, hop->upper});
  return object;
}

Ordered links_json(const facts::Interconnect& interconnect, MissingReasons& missing) {
  Ordered list = Ordered::array();
  if (interconnect.peers.empty()) {
    if (interconnect.no_peers.why == facts::Why::not_applicable) return list;
    missing["/links"] = to_string(interconnect.no_peers);
    return nullptr;
  }
  for (const facts::PeerLink& peer : interconnect.peers) {
    const std::string at = fmt::format("/links/{}", list.size());
    Ordered object;
    object["from"] = peer.from;
    object["to"] = peer.to;
    object["kind"] = word(peer.kind, at + "/kind", missing);
    object["weight"] = plain(peer.weight, at + "/weight", missing);
    object["min_megabytes_per_s"] = plain(peer.min_bandwidth, at + "/min_megabytes_per_s", missing);
    object["max_megabytes_per_s"] = plain(peer.max_bandwidth, at + "/max_megabytes_per_s", missing);
    list.push_back(std::move(object));
  }
  return list;
}

Ordered python_json(const facts::PythonStack& python, MissingReasons& missing) {
  Ordered object;
  object["interpreter"] = plain(python.interpreter, "/python/interpreter", missing);
  object["version"] = plain(python.version, "/python/version", missing);
  object["prefix"] = plain(python.prefix, "/python/prefix", missing);
  object["torch"] = torch_json(python, missing);
  object["packages"] = Ordered::array();
  for (const facts::Package& package : python.packages) {
    object["packages"].push_back(
        {{"name", package.name}, {"version", package.version}, {"path", package.path}});
  }
  return object;
}

}  // namespace headroom::report
