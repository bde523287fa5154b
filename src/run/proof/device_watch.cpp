// SPDX-License-Identifier: Apache-2.0
#include "run/proof/device_watch.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "machine/clock.h"
#include "probe/read_gpu_strain.h"

namespace headroom::run {
namespace {

constexpr double shortest_s = 0.2, longest_s = 5;
constexpr double readings_in_all = 600;
constexpr std::uint64_t patience_ms = 10'000;
constexpr double s_per_ns = 1e-9;
constexpr double ms_per_s = 1e3;

}  // namespace

// Shared with the thread that reads, which may be left behind.
struct DeviceWatch::Readings {
  Readings(std::shared_ptr<const machine::Files> from, facts::PciGpu of)
      : files(std::move(from)), gpu(std::move(of)) {}

  void read() HEADROOM_EXCLUDES(mutex) {
    const auto strain = probe::read_gpu_strain(*files, gpu);
    const double at_s = s_per_ns * static_cast<double>(machine::monotonic_ns() - begin_ns);
    const MutexLock lock(mutex);
    samples.push_back(proof::make_sample(at_s, strain));
    if (!first) first = strain;
  }

  // Errors are asked for before the load and after it: for some chips' counters the driver has to
  // stop for a while.
  void count_before() HEADROOM_EXCLUDES(mutex) {
    auto errors = probe::read_gpu_errors(*files, gpu);
    const MutexLock lock(mutex);
    before = std::move(errors);
  }
  void count_after() HEADROOM_EXCLUDES(mutex) {
    auto errors = probe::read_gpu_errors(*files, gpu);
    const MutexLock lock(mutex);
    after = std::move(errors);
  }

  const std::shared_ptr<const machine::Files> files;
  const facts::PciGpu gpu;
  const std::uint64_t begin_ns = machine::monotonic_ns();
  Mutex mutex;
  std::vector<proof::SoakSample> samples HEADROOM_GUARDED_BY(mutex);
  std::optional<facts::GpuStrain> first HEADROOM_GUARDED_BY(mutex);
  std::optional<facts::GpuErrors> before HEADROOM_GUARDED_BY(mutex);
  std::optional<facts::GpuErrors> after HEADROOM_GUARDED_BY(mutex);
};

DeviceWatch::DeviceWatch(std::shared_ptr<const machine::Files> files, const facts::PciGpu& gpu,
                         double whole_s)
    : readings_(std::make_shared<Readings>(std::move(files), gpu)) {
  const double period_s = std::clamp(whole_s / readings_in_all, shortest_s, longest_s);
  readings_->count_before();
  periodic_.emplace(static_cast<std::uint64_t>(ms_per_s * period_s),
                    [readings = readings_] { readings->read(); });
}

DeviceWatch::~DeviceWatch() = default;

void DeviceWatch::finish(proof::SoakRecord& record) {
  bool answers = periodic_->stop(patience_ms);
  if (answers) {
    // Once: it is told to stop while it reads.
    machine::Periodic last(patience_ms, [readings = readings_] { readings->count_after(); });
    answers = last.stop(patience_ms);
  }
  const MutexLock lock(readings_->mutex);
  record.samples = readings_->samples;
  record.first = readings_->first;
  record.before = readings_->before;
  record.after = readings_->after;
  if (!answers) record.why_unwatched = "the driver does not answer any more";
}

}  // namespace headroom::run
