// SPDX-License-Identifier: Apache-2.0
#include "report/metrics_text.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/version.h"
#include "facts/free_now.h"
#include "report/exposition.h"

namespace headroom::report {
namespace {

using facts::Fact;
using facts::Gpu;
using facts::GpuSensors;
using Labels = Exposition::Labels;
using Type = Exposition::Type;

// A series for each process is a price that whoever scrapes pays; beyond these the sum is told.
constexpr std::size_t most_holders = 20;

class Writer {
 public:
  explicit Writer(const live::Moment& moment) : moment_(moment), facts_(moment.facts) {}

  std::string run(const LookCounts& counts) {
    about_looks(counts);
    about_verdict();
    about_gpus();
    about_ladder();
    about_memory();
    about_holders();
    about_sensors();
    about_driver();
    about_runs();
    about_deployments();
    return out_.text();
  }

  void about_verdicts(findings::Verdict verdict) {
    gauge("headroom_verdict",
          "What headroom check says of the machine: 1 for one of the verdicts.");
    using findings::Verdict;
    for (const Verdict one : {Verdict::ok, Verdict::limited, Verdict::broken, Verdict::unsuitable,
                              Verdict::no_gpu, Verdict::unknown}) {
      out_.add({{"verdict", std::string(to_string(one))}}, std::uint64_t{verdict == one});
    }
  }

  void about_looks(const LookCounts& counts) {
    gauge("headroom_build_info", "The version of headroom; always 1.");
    out_.add({{"version", std::string(program_version())}}, std::uint64_t{1});
    counter("headroom_looks_total", "How often this process has looked at the machine.");
    out_.add({}, counts.looks);
    counter("headroom_look_failures_total", "How often it could not look.");
    out_.add({}, counts.failures);
    gauge("headroom_look_timestamp_seconds", "When the last look was that succeeded, since 1970.");
    if (counts.last_good) out_.add({}, static_cast<double>(counts.last_good->count()) / 1e3);
  }
  const std::string& text() const { return out_.text(); }

 private:
  void gauge(std::string_view name, std::string_view help) { out_.family(name, Type::gauge, help); }
  void counter(std::string_view name, std::string_view help) {
    out_.family(name, Type::counter, help);
  }
  template <class Value>
  void known(const Labels& labels, const std::optional<Value>& value, double divisor = 1) {
    if (!value) return;
    if constexpr (std::is_same_v<Value, Bytes>) {
      out_.add(labels, value->value);
    } else if (divisor == 1) {
      out_.add(labels, std::uint64_t{*value});
    } else {
      out_.add(labels, static_cast<double>(*value) / divisor);
    }
  }

  void about_verdict() {
    gauge("headroom_look_duration_seconds", "How long the last look took.");
    out_.add({}, static_cast<double>(moment_.look.count()) / 1e6);
    about_verdicts(moment_.diagnosis.verdict);
    gauge("headroom_finding", "Something that headroom check found, by its cause; always 1.");
    for (const findings::Finding& finding : moment_.diagnosis.findings) {
      out_.add({{"id", finding.id},
                {"severity", std::string(to_string(finding.severity))},
                {"gpu", finding.gpu}},
               std::uint64_t{1});
    }
  }

  void about_gpus() {
    gauge("headroom_gpu_info", "An AMD GPU of this machine; always 1.");
    for (const Gpu& gpu : facts_.gpus) {
      const char* kind = !gpu.integrated ? "unknown" : *gpu.integrated ? "integrated" : "discrete";
      out_.add({{"gpu", gpu.pci},
                {"name", gpu.name},
                {"gfx", gpu.gfx.optional().value_or("")},
                {"kind", kind}},
               std::uint64_t{1});
    }
    gauge("headroom_gpu_asleep", "Whether the GPU is suspended; headroom does not wake it.");
    for (const Gpu& gpu : facts_.gpus) out_.add({{"gpu", gpu.pci}}, std::uint64_t{gpu.asleep()});
  }

  template <class Add>
  void each_rung(Add add) {
    for (const Gpu& gpu : facts_.gpus) {
      for (const facts::Rung& rung : gpu.ladder.rungs) {
        add(Labels{{"gpu", gpu.pci}, {"rung", rung.name}}, rung);
      }
    }
  }

  void about_ladder() {
    gauge("headroom_gpu_limit_bytes", "A limit between a job and this GPU's memory.");
    each_rung([&](const Labels& labels, const facts::Rung& rung) {
      if (rung.applies) known(labels, rung.limit.optional());
    });
    gauge("headroom_gpu_limit_used_bytes", "What is in use of that limit.");
    each_rung([&](const Labels& labels, const facts::Rung& rung) {
      if (rung.applies) known(labels, rung.used.optional());
    });
    gauge("headroom_gpu_limit_binding", "The limit that a job meets first; always 1.");
    each_rung([&](const Labels& labels, const facts::Rung& rung) {
      if (rung.binding) out_.add(labels, std::uint64_t{1});
    });
    gauge("headroom_gpu_free_bytes",
          "What a job that starts now can take, and the limit that says so.");
    for (const Gpu& gpu : facts_.gpus) {
      const auto free = facts::find_free_now(gpu.ladder);
      if (free) out_.add({{"gpu", gpu.pci}, {"rung", free->rung}}, free->bytes.value);
    }
  }

  template <class Value>
  void each_gpu(Value value) {
    for (const Gpu& gpu : facts_.gpus) known({{"gpu", gpu.pci}}, value(gpu));
  }

  void about_memory() {
    gauge("headroom_gpu_vram_bytes", "The VRAM, or an APU's carve-out.");
    each_gpu([](const Gpu& gpu) { return gpu.vram_total.optional(); });
    gauge("headroom_gpu_vram_used_bytes", "What is in use of it, by anybody.");
    each_gpu([](const Gpu& gpu) { return gpu.vram_used.optional(); });
    gauge("headroom_gpu_gtt_bytes", "The system memory that the GPU may use.");
    each_gpu([](const Gpu& gpu) { return gpu.gtt_total.optional(); });
    gauge("headroom_gpu_gtt_used_bytes", "What is in use of it, by anybody.");
    each_gpu([](const Gpu& gpu) { return gpu.gtt_used.optional(); });
    gauge("headroom_gpu_gone_bytes", "Held for processes that have ended: headroom reclaim.");
    each_gpu([](const Gpu& gpu) { return gpu.accounting.gone.optional(); });
    gauge("headroom_gpu_unattributed_bytes", "In use, and of no process that can be seen.");
    each_gpu([](const Gpu& gpu) { return gpu.accounting.unattributed.optional(); });
  }

  template <class Amount>
  void each_holder(Amount amount) {
    for (const Gpu& gpu : facts_.gpus) {
      const std::size_t shown = std::min(gpu.holders.size(), most_holders);
      for (std::size_t index = 0; index < shown; ++index) {
        const facts::Holder& holder = gpu.holders[index];
        known({{"gpu", gpu.pci},
               {"pid", std::to_string(holder.pid)},
               {"command", holder.command},
               {"container", holder.container},
               {"unit", holder.unit}},
              amount(holder));
      }
    }
  }

  void about_holders() {
    gauge("headroom_gpu_holders", "How many processes hold memory of the GPU.");
    for (const Gpu& gpu : facts_.gpus) {
      out_.add({{"gpu", gpu.pci}}, std::uint64_t{gpu.holders.size()});
    }
    gauge("headroom_holder_vram_bytes",
          "The VRAM that a process holds; the 20 largest of each GPU.");
    each_holder([](const facts::Holder& holder) { return holder.vram; });
    gauge("headroom_holder_gtt_bytes", "The system memory that it holds for the GPU.");
    each_holder([](const facts::Holder& holder) { return holder.gtt; });
  }

  void sensor(Fact<std::uint64_t> GpuSensors::*member, double divisor, Labels labels = {}) {
    for (std::size_t index = 0; index < moment_.sensors.size(); ++index) {
      Labels all = {{"gpu", facts_.gpus[index].pci}};
      all.insert(all.end(), labels.begin(), labels.end());
      known(all, (moment_.sensors[index].*member).optional(), divisor);
    }
  }

  void about_sensors() {
    gauge("headroom_gpu_busy_ratio", "How busy the GPU is, 0 to 1.");
    sensor(&GpuSensors::busy_percent, 100);
    gauge("headroom_gpu_memory_busy_ratio", "How busy its memory is, 0 to 1.");
    sensor(&GpuSensors::memory_busy_percent, 100);
    gauge("headroom_gpu_temperature_celsius", "A temperature of the GPU.");
    sensor(&GpuSensors::edge_millicelsius, 1e3, {{"sensor", "edge"}});
    sensor(&GpuSensors::junction_millicelsius, 1e3, {{"sensor", "junction"}});
    sensor(&GpuSensors::memory_millicelsius, 1e3, {{"sensor", "memory"}});
    gauge("headroom_gpu_power_watts", "What the GPU takes; of an APU the whole package.");
    sensor(&GpuSensors::power_microwatts, 1e6);
    gauge("headroom_gpu_clock_hertz", "A clock of the GPU.");
    sensor(&GpuSensors::core_hertz, 1, {{"clock", "core"}});
    sensor(&GpuSensors::memory_hertz, 1, {{"clock", "memory"}});
    gauge("headroom_gpu_fan_rpm", "How fast its fan turns.");
    sensor(&GpuSensors::fan_rpm, 1);
  }

  void about_driver() {
    counter("headroom_gpu_vram_lost_total",
            "Resets of the GPU that lost the contents of its VRAM.");
    each_gpu([](const Gpu& gpu) { return gpu.answers.vram_lost.optional(); });
    counter("headroom_gpu_evictions_total", "Buffers moved out of VRAM for want of room.");
    each_gpu([](const Gpu& gpu) { return gpu.answers.evictions.optional(); });
  }

  void about_runs() {
    if (!moment_.runs.any()) return;
    counter("headroom_run_attempts_total", "Attempts of supervised commands, by how they ended.");
    const std::array ended = {std::pair{"completed", moment_.runs.completed},
                              std::pair{"out-of-memory", moment_.runs.out_of_memory},
                              std::pair{"failed", moment_.runs.failed}};
    for (const auto& [outcome, count] : ended) out_.add({{"outcome", outcome}}, count);
  }

  void about_deployments() {
    gauge("headroom_deployment", "The last deployment of a service; always 1.");
    for (const deploy::Record& record : moment_.deployments) {
      const std::string outcome =
          record.outcome ? std::string(to_string(*record.outcome)) : "under-way";
      out_.add({{"service", record.name},
                {"stage", std::string(to_string(record.stage))},
                {"outcome", outcome},
                {"cause", record.cause ? record.cause->id : ""}},
               std::uint64_t{1});
    }
    gauge("headroom_deployment_ended_timestamp_seconds", "When it ended, since 1970.");
    for (const deploy::Record& record : moment_.deployments) {
      if (record.ended) {
        out_.add({{"service", record.name}}, static_cast<double>(record.ended->count()) / 1e3);
      }
    }
  }

  const live::Moment& moment_;
  const facts::Facts& facts_;
  Exposition out_;
};

}  // namespace

std::string metrics_text(const live::Moment& moment, const LookCounts& counts) {
  return Writer(moment).run(counts);
}

std::string metrics_text(const LookCounts& counts) {
  const live::Moment nothing;
  Writer writer(nothing);
  writer.about_looks(counts);
  writer.about_verdicts(findings::Verdict::unknown);
  return writer.text();
}

}  // namespace headroom::report
