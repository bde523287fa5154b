// SPDX-License-Identifier: Apache-2.0
#include "report/check_json.h"

#include <fmt/format.h>

#include <map>

#include <nlohmann/json.hpp>

#include "report/cause_json.h"
#include "report/environment_text.h"
#include "report/fact_list.h"
#include "report/links_json.h"
#include "report/suitability_report.h"

namespace headroom::report {
namespace {

using Ordered = nlohmann::ordered_json;
using facts::Fact;

// Builds the document and collects why its nulls are null.
class Writer {
 public:
  Ordered write(const facts::Facts& facts, const findings::Diagnosis& diagnosis) {
    Ordered document;
    document["schema"] = "headroom.check/1";
    document["machine"] = machine(facts.machine);
    document["machine"]["shm_bytes"] = bytes(facts.interconnect.shm, "/machine/shm_bytes");
    document["machine"]["memlock_bytes"] =
        bytes(facts.interconnect.memlock, "/machine/memlock_bytes");
    document["verdict"] = to_string(diagnosis.verdict);
    document["cause"] = diagnosis.cause ? cause_json(*diagnosis.cause) : Ordered(nullptr);
    document["runners_up"] = runners_up_json(diagnosis.runners_up);
    document["findings"] = Ordered::array();
    for (const auto& finding : diagnosis.findings) {
      document["findings"].push_back(write_finding(finding));
    }
    document["gpus"] = Ordered::array();
    for (const facts::Gpu& gpu : facts.gpus) {
      const std::size_t index = document["gpus"].size();
      const std::string at = fmt::format("/gpus/{}", index);
      document["gpus"].push_back(write_gpu(gpu, at));
      add_suitability(
          gpu, index < diagnosis.suitability.size() ? &diagnosis.suitability[index] : nullptr, at,
          document["gpus"].back());
    }
    document["other_gpus"] = Ordered::array();
    for (const facts::OtherGpu& gpu : facts.other_gpus) {
      document["other_gpus"].push_back(
          write_other(gpu, fmt::format("/other_gpus/{}", document["other_gpus"].size())));
    }
    if (facts.wsl.is_wsl()) document["wsl"] = write_wsl(facts.wsl);
    document["environment"] = environment_json(diagnosis.environment);
    document["facts"] = write_facts(facts);
    document["links"] = links_json(facts.interconnect, missing_);
    document["python"] = python_json(facts.python, missing_);
    document["missing"] = write_missing();
    return document;
  }

 private:
  template <class T, class Convert>
  Ordered value(const Fact<T>& fact, const std::string& pointer, Convert convert) {
    if (fact) return convert(*fact);
    const std::string& path = fact.source().path;
    missing_[pointer] = (path.empty() ? "" : path + ": ") + to_string(fact.missing());
    return nullptr;
  }
  Ordered bytes(const Fact<Bytes>& fact, const std::string& pointer) {
    return value(fact, pointer, [](Bytes amount) { return amount.value; });
  }
  Ordered text(const facts::Text& fact, const std::string& pointer) {
    return value(fact, pointer, [](const std::string& word) { return word; });
  }
  Ordered hex(const Fact<std::uint64_t>& fact, const std::string& pointer) {
    return value(fact, pointer, [](std::uint64_t id) { return fmt::format("{:#06x}", id); });
  }
  static Ordered optional_text(const std::string& word) {
    return word.empty() ? Ordered(nullptr) : Ordered(word);
  }

  static Ordered write_facts(const facts::Facts& facts) {
    Ordered list = Ordered::array();
    for (FactRow& row : list_facts(facts)) {
      // Key by key: a list of pairs would be copied twice, and there may be thousands of rows.
      Ordered& entry = list.emplace_back(Ordered::object());
      entry["gpu"] = optional_text(row.gpu);
      entry["fact"] = std::move(row.name);
      entry["value"] = optional_text(row.value);
      entry["missing"] = optional_text(row.missing);
      entry["source"] = optional_text(row.source);
      entry["line"] = row.line > 0 ? Ordered(row.line) : Ordered(nullptr);
    }
    return list;
  }

  // Appended, not inserted: inserting into an ordered object searches it, and a node with many GPUs
  // has thousands of these.
  Ordered write_missing() const {
    Ordered object = Ordered::object();
    auto& entries = object.get_ref<Ordered::object_t&>();
    for (const auto& [pointer, reason] : missing_) {
      entries.Ordered::object_t::Container::emplace_back(pointer, reason);
    }
    return object;
  }

  Ordered machine(const facts::MachineFacts& facts) {
    Ordered object;
    object["kernel"] = text(facts.kernel, "/machine/kernel");
    object["distribution"] = text(facts.distribution, "/machine/distribution");
    object["ram_bytes"] = bytes(facts.memory.total, "/machine/ram_bytes");
    // Null says that it is no container, which is known.
    object["container"] = facts.container ? Ordered(*facts.container) : Ordered(nullptr);
    object["live"] = facts.live;
    return object;
  }

  Ordered write_wsl(const facts::Wsl& wsl) {
    const auto route = [](facts::DxgRoute way) { return to_string(way); };
    const auto is = [](bool yes) { return yes; };
    if (wsl.kind == facts::WslKind::wsl1) return {{"kind", to_string(wsl.kind)}};
    return {{"kind", to_string(wsl.kind)},
            {"dxg", value(wsl.dxg, "/wsl/dxg", is)},
            {"dxg_usable", value(wsl.dxg_usable, "/wsl/dxg_usable", is)},
            {"libdxcore", text(wsl.dxcore, "/wsl/libdxcore")},
            {"librocdxg", text(wsl.rocdxg, "/wsl/librocdxg")},
            {"runtime", value(wsl.system.route, "/wsl/runtime", route)},
            {"torch_runtime", value(wsl.bundled.route, "/wsl/torch_runtime", route)},
            {"windows_driver", text(wsl.windows_driver, "/wsl/windows_driver")},
            {"adrenalin", text(wsl.adrenalin, "/wsl/adrenalin")}};
  }

  static Ordered write_finding(const findings::Finding& finding) {
    return {{"id", finding.id},
            {"severity", to_string(finding.severity)},
            {"gpu", optional_text(finding.gpu)},
            {"title", finding.title},
            {"reasons", finding.reasons},
            {"evidence", evidence_json(finding.evidence)},
            {"fix", findings::texts_of(finding.fix)},
            {"next", finding.next.text()}};
  }

  Ordered write_gpu(const facts::Gpu& gpu, const std::string& at) {
    Ordered object;
    object["pci"] = gpu.pci;
    object["vendor"] = hex(gpu.vendor, at + "/vendor");
    object["device"] = hex(gpu.device, at + "/device");
    object["name"] = gpu.name;
    object["gfx"] = text(gpu.gfx, at + "/gfx");
    object["integrated"] = value(gpu.integrated, at + "/integrated", [](bool is) { return is; });
    object["vram_total_bytes"] = bytes(gpu.vram_total, at + "/vram_total_bytes");
    object["vram_used_bytes"] = bytes(gpu.vram_used, at + "/vram_used_bytes");
    object["gtt_total_bytes"] = bytes(gpu.gtt_total, at + "/gtt_total_bytes");
    object["gtt_used_bytes"] = bytes(gpu.gtt_used, at + "/gtt_used_bytes");
    object["pool_bytes"] = bytes(gpu.pool, at + "/pool_bytes");
    object["support"] = value(gpu.support, at + "/support",
                              [](knowledge::Support support) { return to_string(support); });
    write_connection(gpu.connection, at, object);
    object["ladder"] = Ordered::array();
    for (const facts::Rung& rung : gpu.ladder.rungs) {
      object["ladder"].push_back(
          write_rung(rung, fmt::format("{}/ladder/{}", at, object["ladder"].size())));
    }
    object["holders"] = Ordered::array();
    for (const facts::Holder& holder : gpu.holders) {
      object["holders"].push_back(
          write_holder(holder, fmt::format("{}/holders/{}", at, object["holders"].size())));
    }
    object["accounting"] = write_accounting(gpu.accounting, at + "/accounting");
    object["unattributed_bytes"] = bytes(gpu.accounting.unattributed, at + "/unattributed_bytes");
    return object;
  }

  void write_connection(const facts::Connection& connection, const std::string& at,
                        Ordered& object) {
    const auto number = [](std::uint64_t count) { return count; };
    object["pcie"] = pcie_json(connection, at + "/pcie", missing_);
    object["numa_node"] = value(connection.numa_node, at + "/numa_node", number);
    object["iommu"] = value(connection.iommu, at + "/iommu",
                            [](facts::IommuMode mode) { return to_string(mode); });
    object["rocr_index"] = value(connection.rocr_index, at + "/rocr_index", number);
    object["hip_index"] = value(connection.hip_index, at + "/hip_index", number);
  }

  void add_suitability(const facts::Gpu& gpu, const std::optional<findings::Suitability>* known,
                       const std::string& at, Ordered& object) {
    object["firmware"] = Ordered::object();
    for (const auto& [name, version] : gpu.firmware.versions) {
      object["firmware"][name] = value(version, at + "/firmware/" + name, [](std::uint64_t number) {
        return facts::firmware_text(number);
      });
    }
    if (known != nullptr && known->has_value()) {
      object["suitability"] = suitability_json(**known, evidence_json((*known)->evidence));
      return;
    }
    object["suitability"] = nullptr;
    missing_[at + "/suitability"] = gpu.support ? "not asked" : to_string(gpu.support.missing());
  }

  Ordered write_rung(const facts::Rung& rung, const std::string& at) {
    Ordered object;
    object["rung"] = rung.name;
    object["limit_bytes"] = bytes(rung.limit, at + "/limit_bytes");
    object["used_bytes"] = bytes(rung.used, at + "/used_bytes");
    object["fixed_at"] = to_string(rung.fixed_at);
    object["source"] = optional_text(rung.limit.source().path);
    object["applies"] = rung.applies;
    object["kind"] = to_string(rung.kind);
    object["binding"] = rung.binding;
    object["missing"] = rung.limit ? Ordered(nullptr) : Ordered(to_string(rung.limit.missing()));
    if (rung.at_most) object["at_most"] = true;
    return object;
  }

  Ordered write_accounting(const facts::Accounting& account, const std::string& at) {
    return {{"used_bytes", bytes(account.used, at + "/used_bytes")},
            {"here_bytes", bytes(account.here, at + "/here_bytes")},
            {"outside_bytes", bytes(account.outside, at + "/outside_bytes")},
            {"gone_bytes", bytes(account.gone, at + "/gone_bytes")},
            {"baseline_bytes", bytes(account.baseline, at + "/baseline_bytes")},
            {"beyond_bytes", bytes(account.beyond, at + "/beyond_bytes")}};
  }

  Ordered write_holder(const facts::Holder& holder, const std::string& at) {
    const auto amount = [&](const std::optional<Bytes>& bytes, const char* key) -> Ordered {
      if (bytes) return bytes->value;
      missing_[at + "/" + key] =
          holder.visible ? "its descriptors do not say" : "the process is not visible";
      return nullptr;
    };
    Ordered object;
    object["pid"] = holder.pid;
    object["command"] = optional_text(holder.command);
    if (holder.command.empty()) missing_[at + "/command"] = "the process is not visible";
    object["user"] = optional_text(holder.user);
    object["engine"] = optional_text(holder.engine);
    object["container"] = optional_text(holder.container);
    object["unit"] = optional_text(holder.unit);
    object["job"] = optional_text(holder.job);
    object["vram_bytes"] = amount(holder.vram, "vram_bytes");
    object["gtt_bytes"] = amount(holder.gtt, "gtt_bytes");
    object["visible"] = holder.visible;
    object["whereabouts"] = to_string(holder.whereabouts);
    return object;
  }

  Ordered write_other(const facts::OtherGpu& gpu, const std::string& at) {
    Ordered object;
    object["pci"] = gpu.pci;
    object["vendor"] = hex(gpu.vendor, at + "/vendor");
    object["device"] = hex(gpu.device, at + "/device");
    object["name"] = gpu.name;
    object["driver"] = text(gpu.driver, at + "/driver");
    return object;
  }

  std::map<std::string, std::string> missing_;  // JSON pointer → reason.
};

}  // namespace

Ordered to_json(const facts::Facts& facts, const findings::Diagnosis& diagnosis) {
  return Writer().write(facts, diagnosis);
}

std::string to_text(const Ordered& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string to_json_text(const facts::Facts& facts, const findings::Diagnosis& diagnosis) {
  return to_text(to_json(facts, diagnosis));
}

}  // namespace headroom::report
