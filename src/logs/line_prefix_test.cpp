// SPDX-License-Identifier: Apache-2.0
#include "logs/line_prefix.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom::logs {
namespace {

struct Case {
  const char* name;
  const char* line;
  const char* time;
  const char* origin;
  const char* body;
};

class Prefix : public testing::TestWithParam<Case> {};

TEST_P(Prefix, is_taken_apart) {
  const Line line = parse_prefix(GetParam().line);
  EXPECT_EQ(line.time, GetParam().time);
  EXPECT_EQ(line.origin, GetParam().origin);
  EXPECT_EQ(line.body, GetParam().body);
}

const Case cases[] = {
    {"compose_and_rich", "immich_machine_learning  | [05/24/24 10:02:41] INFO     Loading model",
     "05/24/24 10:02:41", "immich_machine_learning", "INFO     Loading model"},
    {"compose_alone", "worker-1  | out of memory", "", "worker-1", "out of memory"},
    {"compose_empty_line", "worker-1  |", "", "worker-1", ""},
    {"compose_and_iso", "ollama-1  | time=2024-09-09T18:25:47.552Z level=INFO msg=\"x\"",
     "2024-09-09T18:25:47.552Z", "ollama-1", "level=INFO msg=\"x\""},
    {"docker_service", "web.1.k3x@node7    | ready", "", "web.1.k3x@node7", "ready"},
    {"journald_short", "May 24 10:02:41 box ollama[812]: no GPU", "May 24 10:02:41", "ollama",
     "no GPU"},
    {"journald_short_padded_day", "May  4 10:02:41 box ollama[812]: no GPU", "May  4 10:02:41",
     "ollama", "no GPU"},
    {"journald_without_host", "May 24 10:02:41 ollama[812]: no GPU", "May 24 10:02:41", "ollama",
     "no GPU"},
    {"journald_short_precise", "May 24 10:02:41.123456 box ollama[812]: no GPU",
     "May 24 10:02:41.123456", "ollama", "no GPU"},
    {"journald_short_iso", "2024-05-24T10:02:41+0200 box ollama[812]: no GPU",
     "2024-05-24T10:02:41+0200", "ollama", "no GPU"},
    {"journald_short_iso_without_host", "2024-05-24T10:02:41+02:00 ollama[812]: no GPU",
     "2024-05-24T10:02:41+02:00", "ollama", "no GPU"},
    {"journald_short_iso_kernel", "2024-05-24T10:02:41+0200 box kernel: amdgpu: ring timeout",
     "2024-05-24T10:02:41+0200", "kernel", "amdgpu: ring timeout"},
    {"journald_and_logfmt",
     "May 24 10:02:41 box ollama[812]: time=2024-05-24T10:02:41.552Z level=WARN msg=x",
     "2024-05-24T10:02:41.552Z", "ollama", "level=WARN msg=x"},
    {"journald_unit_with_instance", "May 24 10:02:41 box vllm@2.service[812]: up",
     "May 24 10:02:41", "vllm@2.service", "up"},
    {"dmesg", "[ 2743.942606] amdgpu 0000:03:00.0: amdgpu: ring timeout", "2743.942606", "",
     "amdgpu 0000:03:00.0: amdgpu: ring timeout"},
    {"dmesg_with_thread", "[    1.942606][  T123] amdgpu: x", "1.942606", "", "amdgpu: x"},
    {"dmesg_human", "[Fri May 24 10:02:41 2024] amdgpu: x", "Fri May 24 10:02:41 2024", "",
     "amdgpu: x"},
    {"dmesg_raw", "<3>[ 2743.942606] amdgpu: x", "2743.942606", "", "amdgpu: x"},
    {"dmesg_decoded", "kern  :err   : [ 2743.942606] amdgpu: x", "2743.942606", "", "amdgpu: x"},
    {"dmesg_delta", "[  +0.000012] amdgpu: x", "", "", "amdgpu: x"},
    {"journalctl_k", "May 24 10:02:41 box kernel: amdgpu: x", "May 24 10:02:41", "kernel",
     "amdgpu: x"},
    {"journalctl_k_and_uptime", "May 24 10:02:41 box kernel: [ 2743.942606] amdgpu: x",
     "May 24 10:02:41", "kernel", "amdgpu: x"},
    {"docker_logs_t", "2024-05-24T10:02:41.123456789Z HIP error", "2024-05-24T10:02:41.123456789Z",
     "", "HIP error"},
    {"kubectl_timestamps", "2024-05-24T10:02:41.123456789+02:00 HIP error",
     "2024-05-24T10:02:41.123456789+02:00", "", "HIP error"},
    {"kubectl_prefix", "[pod/train-0/worker] HIP error", "", "pod/train-0/worker", "HIP error"},
    {"cri", "2024-05-24T10:02:41.123456789Z stderr F HIP error", "2024-05-24T10:02:41.123456789Z",
     "", "HIP error"},
    {"cri_part", "2024-05-24T10:02:41.1Z stdout P HIP", "2024-05-24T10:02:41.1Z", "", "HIP"},
    {"torchrun_rank", "[rank0]: torch.OutOfMemoryError: x", "", "rank0",
     "torch.OutOfMemoryError: x"},
    {"torchrun_default", "[default7]:Traceback", "", "default7", "Traceback"},
    {"torchrun_and_c10", "[rank3]:[E524 10:02:41.158430131 ProcessGroupNCCL.cpp:616] x",
     "524 10:02:41.158430131", "rank3", "x"},
    {"elastic", "E0524 10:02:41.123000 140123 torch/distributed/elastic/api.py:869] failed",
     "0524 10:02:41.123000", "", "failed"},
    {"mpirun", "[1,3]<stderr>:HIP error", "", "3", "HIP error"},
    {"vllm", "(EngineCore_DP0 pid=123) INFO 11-05 12:00:00 [core.py:1] up", "11-05 12:00:00",
     "EngineCore_DP0 pid=123", "[core.py:1] up"},
    {"vllm_plain", "INFO 11-05 12:00:00 llm_engine.py:174] up", "11-05 12:00:00", "",
     "llm_engine.py:174] up"},
    {"ray", "(RayWorkerWrapper pid=12, ip=10.0.0.2) up", "", "RayWorkerWrapper pid=12, ip=10.0.0.2",
     "up"},
    {"sglang", "[2024-05-24 10:02:41 TP0] up", "2024-05-24 10:02:41", "TP0", "up"},
    {"rfc5424", "<165>1 2024-05-24T10:02:41.003Z box ollama 812 ID47 [a@1 b=\"c\"] no GPU",
     "2024-05-24T10:02:41.003Z", "ollama", "no GPU"},
    {"rfc5424_nothing_structured", "<165>1 2024-05-24T10:02:41.003Z box ollama - - - no GPU",
     "2024-05-24T10:02:41.003Z", "ollama", "no GPU"},
    {"rfc3164", "<34>May 24 10:02:41 box ollama: no GPU", "May 24 10:02:41", "ollama", "no GPU"},
    {"logfmt", "time=\"2024-05-24T10:02:41Z\" level=error msg=x", "2024-05-24T10:02:41Z", "",
     "level=error msg=x"},
    {"glog", "E0905 12:00:00.123456 123 file.cc:1] x", "0905 12:00:00.123456", "", "x"},
    {"tensorflow", "2024-05-24 10:02:41.123456: E external/rocm.cc:12] x",
     "2024-05-24 10:02:41.123456", "", "E external/rocm.cc:12] x"},
    {"python_logging", "2024-05-24 10:02:41,123 - root - ERROR - x", "2024-05-24 10:02:41,123", "",
     "- root - ERROR - x"},
    {"python_logging_bracketed", "[2024-05-24 10:02:41,123][ERROR] x", "2024-05-24 10:02:41,123",
     "", "[ERROR] x"},
    {"loguru", "2024-05-24 10:02:41.123 | ERROR    | app.main:run:12 - x",
     "2024-05-24 10:02:41.123", "", "x"},
    {"go_log", "2024/05/24 10:02:41 routes.go:12: x", "2024/05/24 10:02:41", "", "routes.go:12: x"},
    {"s6_and_frigate", "2024-05-24 10:02:41.123456789  [2024-05-24 10:02:40] frigate.app INFO : x",
     "2024-05-24 10:02:40", "", "frigate.app INFO : x"},
    {"powershell_error", "python.exe : Traceback (most recent call last):", "", "python.exe",
     "Traceback (most recent call last):"},
    {"powershell_prompt_stays", "PS C:\\Users\\me> python train.py", "", "",
     "PS C:\\Users\\me> python train.py"},
    {"clock", "10:02:41 INFO x", "10:02:41", "", "INFO x"},
    {"nothing", "RuntimeError: HIP error: invalid device function", "", "",
     "RuntimeError: HIP error: invalid device function"},
    {"empty", "", "", "", ""},
    {"table_of_rocm_smi", "GPU[0]          : Temperature (C): 45.0", "", "",
     "GPU[0]          : Temperature (C): 45.0"},
    {"bar_behind_a_number_is_no_container", "12 | 34", "", "", "12 | 34"},
    {"level_is_no_container", "INFO | x", "", "", "INFO | x"},
    {"progress_bar", " 45%|####  | 9/20 [00:10<00:12]", "", "", " 45%|####  | 9/20 [00:10<00:12]"},
    {"pci_address", "03:00.0 VGA compatible controller", "", "",
     "03:00.0 VGA compatible controller"},
    {"word_and_colon_without_time", "box sshd[12]: x", "", "", "box sshd[12]: x"},
    {"path_and_line", "/app/run.py:12: UserWarning: x", "", "", "/app/run.py:12: UserWarning: x"},
};

INSTANTIATE_TEST_SUITE_P(Lines, Prefix, testing::ValuesIn(cases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Prefix, many_nested_ones_end) {
  std::string line;
  for (int i = 0; i < 1000; ++i) line += "[rank0]: ";
  const Line parts = parse_prefix(line);
  EXPECT_EQ(parts.origin, "rank0");
  EXPECT_EQ(parts.body.data() + parts.body.size(), line.data() + line.size());
}

}  // namespace
}  // namespace headroom::logs
