// SPDX-License-Identifier: Apache-2.0
// How fast logs are read, with the real signatures and with 500 made ones, on one core. The bars:
// 300 MB/s for a log in which nothing matches, 100 MB/s for a kernel log in which many lines do.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "knowledge/signatures.h"
#include "logs/log_reader.h"

namespace {

using namespace headroom;

// As many as the table may grow to, of its kinds: literal ones, alternatives, values, folded case.
knowledge::SignatureTable make_signatures() {
  const std::vector<std::string> who = {
      "amdgpu",     "kfd",     "ttm",    "rocBLAS", "hipBLASLt", "MIOpen",       "RCCL",
      "NCCL",       "HSA",     "torch",  "vLLM",    "sglang",    "ollama",       "llama_model_load",
      "ggml_cuda",  "ComfyUI", "immich", "frigate", "whisper",   "bitsandbytes", "xformers",
      "flash_attn", "triton",  "docker", "podman"};
  const std::vector<std::string> what = {
      R"(failed to allocate (?P<size>[\d.]+ [KMG]iB))",
      R"(ring (?P<ring>\w+) timeout, signaled seq=\d+)",
      R"(no kernel image is available for (?P<gfx>gfx[0-9a-f]{3,4}))",
      R"(cannot open shared object file: (?P<file>lib\w+\.so))",
      R"((?:permission denied|operation not permitted): /dev/(?P<node>kfd|dri/\w+))",
      R"(invalid device (?:ordinal|function|pointer))",
      R"(page fault \(src_id:\d+ ring:\d+ vmid:(?P<vmid>\d+))",
      R"(version (?P<wanted>[\d.]+) is required, but (?P<found>[\d.]+) is installed)",
      R"(unsupported architecture)",
      R"(compilation of (?P<kernel>\w+) failed)",
      R"(timed out after (?P<seconds>\d+) ?s)",
      R"(firmware (?:load|version) \w+ (?:failed|mismatch))",
      R"(falling back to (?P<fallback>cpu|\w+ attention))",
      R"(uncorrectable (?:ecc|ras) error)",
      R"(watchdog caught collective operation)",
      R"(could not find a suitable \w+ for (?P<what>.*))",
      R"(segmentation fault|core dumped|signal (?P<signal>\d+))",
      R"(doorbell (?P<doorbell>0x[0-9a-f]+) rejected)",
      R"(evict\w* (?P<model>\S+) to make room)",
      R"(queue (?P<queue>\d+) preemption stalled)"};
  knowledge::SignatureTable table;
  int number = 0;
  for (const std::string& one : who) {
    for (const std::string& other : what) {
      knowledge::Signature signature;
      signature.id = fmt::format("made-{}", ++number);
      const std::string alternative =
          number % 3 == 0 ? fmt::format("|{} error {}\\b", one, number) : "";
      signature.match = fmt::format("{}\\b{}\\b.*(?:{}){}", number % 2 == 0 ? "(?i)" : "", one,
                                    other, alternative);
      signature.role = number % 5 == 0 ? knowledge::Role::fact : knowledge::Role::failure;
      table.rows.push_back(std::move(signature));
    }
  }
  return table;
}

constexpr std::size_t log_bytes = std::size_t{64} << 20;

// Lines of `make(random)` until there is enough.
template <class Make>
std::string make_log(const Make& make) {
  std::mt19937 random(1);
  std::string log;
  while (log.size() < log_bytes) log += make(random);
  return log;
}

std::string training_line(std::mt19937& random) {
  switch (random() % 6) {
    case 0:
      return fmt::format(
          "INFO 11-05 12:00:{:02} [metrics.py:455] Avg prompt throughput: {}.1 tokens/s, "
          "Running: {} reqs, Swapped: 0 reqs, cache usage: {}.9%\n",
          random() % 60, random() % 900, random() % 32, random() % 90);
    case 1:
      return fmt::format(
          "{{'loss': {}.{}, 'grad_norm': 0.{}, 'learning_rate': 2e-05, 'epoch': 0.{}}}\n",
          random() % 9, random() % 9999, random() % 9999, random() % 99);
    case 2:
      return fmt::format(
          "172.18.0.{} - - [05/Nov/2025:12:00:{:02} +0000] \"POST /v1/chat/completions "
          "HTTP/1.1\" 200 {} \"-\" \"python-requests/2.32\"\n",
          random() % 255, random() % 60, random() % 90000);
    case 3:
      return fmt::format(
          "Nov 05 12:00:{:02} box systemd[1]: Started session-{}.scope - Session {} of user "
          "me.\n",
          random() % 60, random() % 999, random() % 999);
    case 4:
      return fmt::format(
          "2025-11-05T12:00:{:02}.{:06}Z DEBUG layers.{}.mlp.gate_proj.weight shape=(4096, "
          "{}) dtype=bfloat16 device=0\n",
          random() % 60, random() % 1000000, random() % 80, random() % 16384);
    default:
      return fmt::format("step {}/100000  loss {}.{:04}  {} tok/s  eta 3:{:02}:11\n",
                         random() % 100000, random() % 9, random() % 9999, random() % 9000,
                         random() % 60);
  }
}

// What services write that have nothing to do with GPUs.
std::string service_line(std::mt19937& random) {
  switch (random() % 5) {
    case 0:
      return fmt::format(
          "172.18.0.{} - - [05/Nov/2025:12:00:{:02} +0000] \"GET /assets/{:08x}.js HTTP/2.0\" 304 "
          "{} \"-\" \"Mozilla/5.0 (X11; Linux)\"\n",
          random() % 255, random() % 60, random(), random() % 90000);
    case 1:
      return fmt::format(
          "Nov 05 12:00:{:02} box systemd[1]: Started session-{}.scope - Session {} of user me.\n",
          random() % 60, random() % 999, random() % 999);
    case 2:
      return fmt::format(
          "2025-11-05T12:00:{:02}.{:06}Z DEBUG http.client request id={:08x} took {} ms\n",
          random() % 60, random() % 1000000, random(), random() % 900);
    case 3:
      return fmt::format("{:08x} connected from 10.0.{}.{}:{}, {} open\n", random(), random() % 255,
                         random() % 255, random() % 65536, random() % 100);
    default:
      return fmt::format("INFO  scheduler: job nightly-{} finished, {} rows, next at 03:{:02}\n",
                         random() % 99, random() % 100000, random() % 60);
  }
}

std::string kernel_line(std::mt19937& random) {
  const auto stamp = fmt::format("[{:5}.{:06}] ", random() % 90000, random() % 1000000);
  switch (random() % 8) {
    case 0:
      return fmt::format(
          "{}amdgpu 0000:0{}:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 "
          "vmid:{} pasid:{})\n",
          stamp, random() % 9, random() % 16, 32000 + random() % 999);
    case 1:
      return fmt::format(
          "{}amdgpu 0000:03:00.0: amdgpu:   in page starting at address "
          "0x{:016x} from IH client 0x1b (UTCL2)\n",
          stamp, random());
    case 2:
      return fmt::format(
          "{}[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, "
          "signaled seq={}, emitted seq={}\n",
          stamp, random(), random());
    case 3:
      return fmt::format("{}usb 1-{}: new high-speed USB device number {} using xhci_hcd\n", stamp,
                         random() % 8, random() % 99);
    case 4:
      return fmt::format(
          "{}EXT4-fs (nvme0n1p{}): mounted filesystem {:08x} r/w with ordered data "
          "mode. Quota mode: none.\n",
          stamp, random() % 4, random());
    case 5:
      return fmt::format("{}pci 0000:{:02x}:00.0: [1002:{:04x}] type 00 class 0x030000\n", stamp,
                         random() % 256, random() % 65536);
    default:
      return fmt::format("{}br-{:06x}: port {}(veth{:07x}) entered blocking state\n", stamp,
                         random() % 0xffffff, random() % 9, random() % 0xfffffff);
  }
}

std::string out_of_memory_line(std::mt19937& random) {
  return fmt::format(
      "torch.OutOfMemoryError: HIP out of memory. Tried to allocate {}.00 GiB. GPU 0 has a "
      "total capacity of 23.98 GiB of which {}.12 MiB is free. Of the allocated memory 20.11 "
      "GiB is allocated by PyTorch, and {}.92 GiB is reserved by PyTorch but unallocated.\n",
      random() % 9, random() % 900, random() % 9);
}

// Each line is a part of a series.
std::string memory_line(std::mt19937& random) {
  return fmt::format(
      "[epoch 1, batch {}] loss {}.{:04} allocated: {}.{:02} GiB reserved: {}.{:02} GiB\n",
      random() % 100000, random() % 9, random() % 9999, random() % 20, random() % 99, random() % 20,
      random() % 99);
}

std::string coloured_line(std::mt19937& random) {
  return "\x1b[32mINFO\x1b[0m:     \x1b[1m" + training_line(random);
}

std::string progress_row(std::mt19937& random) {
  return fmt::format(
      "Loading checkpoint shards: {:3}%|####      | {}/100 [00:{:02}<00:10,  1.2it/s]\r",
      random() % 100, random() % 100, random() % 60);
}

void read(benchmark::State& state, const knowledge::SignatureTable& table, const std::string& log) {
  const auto matcher = logs::Matcher::make(table);
  std::uint64_t found = 0;
  for ([[maybe_unused]] auto step : state) {
    logs::Observations observations;
    logs::LogReader reader(*matcher, observations, 0);
    constexpr std::size_t piece = std::size_t{256} << 10;
    for (std::size_t at = 0; at < log.size(); at += piece) {
      reader.feed(std::string_view(log).substr(at, piece));
    }
    reader.finish();
    found = 0;
    for (const auto& signature : table.rows) found += observations.count_of(signature.id);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(log.size()));
  state.counters["found"] = static_cast<double>(found);
}

void make_matcher(benchmark::State& state, const knowledge::SignatureTable& table) {
  for ([[maybe_unused]] auto step : state) {
    benchmark::DoNotOptimize(logs::Matcher::make(table));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto real = knowledge::load_signatures();
  const auto made = make_signatures();
  if (!real || !logs::Matcher::make(made)) return 1;
  const std::vector<std::pair<std::string, std::string>> logs = {
      {"service", make_log(service_line)},   {"training", make_log(training_line)},
      {"coloured", make_log(coloured_line)}, {"progress_bar", make_log(progress_row)},
      {"kernel", make_log(kernel_line)},     {"out_of_memory", make_log(out_of_memory_line)},
      {"memory", make_log(memory_line)},
  };
  const std::vector<std::pair<std::string, const knowledge::SignatureTable*>> tables = {
      {"real", &*real}, {"made", &made}};
  for (const auto& [table_name, table] : tables) {
    for (const auto& [log_name, log] : logs) {
      benchmark::RegisterBenchmark(
          (table_name + "_signatures/" + log_name).c_str(),
          [table = table, &log = log](benchmark::State& state) { read(state, *table, log); })
          ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark(
        (table_name + "_signatures/compile").c_str(),
        [table = table](benchmark::State& state) { make_matcher(state, *table); })
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
