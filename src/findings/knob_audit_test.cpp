// SPDX-License-Identifier: Apache-2.0
#include "findings/knob_audit.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace headroom::findings {
namespace {

const knowledge::GpuTables& tables() {
  static const knowledge::GpuTables loaded = *knowledge::load_gpu_tables();
  return loaded;
}

template <class T>
facts::Fact<T> fact(T value) {
  return {std::move(value), facts::Source{"test", 1, ""}};
}

facts::Gpu gpu(const std::string& gfx, bool integrated, Bytes vram) {
  facts::Gpu one;
  one.name = "GPU";
  one.gfx = fact(gfx);
  one.integrated = fact(integrated);
  one.vram_total = fact(vram);
  one.kfd_id = fact(std::uint64_t{1});
  return one;
}

facts::Facts machine(std::vector<facts::Gpu> gpus, Bytes ram = 64_GiB) {
  facts::Facts facts;
  facts.gpus = std::move(gpus);
  facts.machine.memory.total = fact(ram);
  return facts;
}
facts::Facts card() {
  return machine({gpu("gfx1100", false, 20_GiB)});
}
facts::Facts apu() {
  return machine({gpu("gfx1151", true, 512_MiB)}, 125_GiB);
}

std::vector<Judgement> audit(const std::string& snippet, const facts::Facts& facts) {
  const facts::Text text(snippet, facts::Source{"file", 0, ""});
  return audit_knobs(facts::parse_snippet(text, facts::Scope::given, {"amd_iommu"}), facts,
                     tables());
}

// "NAME verdict" of each.
std::vector<std::string> verdicts(const std::string& snippet, const facts::Facts& facts) {
  std::vector<std::string> lines;
  for (const Judgement& one : audit(snippet, facts)) {
    lines.push_back(one.name.substr(one.name.find(':') + 1) + " " +
                    std::string(to_string(one.verdict)));
  }
  return lines;
}
std::vector<std::string> cleaned(const std::string& snippet, const facts::Facts& facts) {
  return clean_lines(audit(snippet, facts));
}
using Lines = std::vector<std::string>;

TEST(KnobAudit, amounts_in_another_unit_are_recognised_by_the_machines_size) {
  EXPECT_EQ(verdicts("options amdgpu vm_size=131072", apu()), (Lines{"amdgpu.vm_size wrong-unit"}));
  EXPECT_EQ(verdicts("options amdgpu vm_size=256", apu()), (Lines{"amdgpu.vm_size keep"}));
  // MiB, bytes and GiB where pages are counted: 120 GiB each time.
  for (const char* value : {"122880", "128849018880", "120GiB"}) {
    const auto judged = audit(std::string("options ttm pages_limit=") + value, apu());
    EXPECT_EQ(judged[0].verdict, KnobVerdict::wrong_unit) << value;
    EXPECT_EQ(judged[0].remains->second, "31457280") << value;
  }
  EXPECT_EQ(verdicts("options ttm pages_limit=31457280", apu()), (Lines{"ttm.pages_limit keep"}));
  EXPECT_EQ(verdicts("options ttm pages_limit=2097152", apu()), (Lines{"ttm.pages_limit keep"}));
  EXPECT_EQ(verdicts("options ttm pages_limit=1000", apu()), (Lines{"ttm.pages_limit dangerous"}));
  EXPECT_EQ(verdicts("options amdgpu gttsize=128849018880", apu()),
            (Lines{"amdgpu.gttsize wrong-unit"}));
  // The same number is sound on a machine that has as much.
  EXPECT_EQ(verdicts("options ttm pages_limit=122880", machine({}, 1_GiB)),
            (Lines{"ttm.pages_limit keep"}));
}

TEST(KnobAudit, a_block_size_above_the_card_has_no_effect) {
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:40960", card())[1],
            "max_split_size_mb no-effect");
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:128", card())[1],
            "max_split_size_mb keep");
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:16", card())[1],
            "max_split_size_mb wrong-unit");
}

TEST(KnobAudit, nobody_is_told_to_export_what_is_dangerous) {
  const auto mi50 = machine({gpu("gfx906", false, 32_GiB)});
  const std::string settings = "HSA_OVERRIDE_GFX_VERSION=11.0.0\nexport HIP_VISIBLE_DEVICES=0\n";
  EXPECT_EQ(verdicts(settings, mi50)[0], "HSA_OVERRIDE_GFX_VERSION no-effect");
  EXPECT_EQ(cleaned(settings, mi50), Lines{"export HIP_VISIBLE_DEVICES=0"});
}

TEST(KnobAudit, what_only_rocm_reads_does_nothing_on_a_gpu_that_it_never_supported) {
  auto facts = machine({gpu("gfx90c", true, 512_MiB)});
  facts.gpus[0].support = fact(knowledge::Support::unsupported);
  const std::string settings =
      "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True\nHSA_ENABLE_SDMA=0\nOMP_NUM_THREADS=6\n";
  EXPECT_EQ(verdicts(settings, facts),
            (Lines{"PYTORCH_HIP_ALLOC_CONF no-effect", "expandable_segments no-effect",
                   "HSA_ENABLE_SDMA no-effect", "OMP_NUM_THREADS keep"}));
  facts.other_gpus.push_back({});
  EXPECT_EQ(verdicts(settings, facts)[1], "expandable_segments keep");
}

TEST(KnobAudit, options_before_they_exist_have_no_effect) {
  auto facts = card();
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=expandable_segments:True", facts)[1],
            "expandable_segments keep");
  facts.machine.rocm = fact(std::string("6.3.2-66"));
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=expandable_segments:True", facts)[1],
            "expandable_segments no-effect");
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=expandable_segments:False", facts)[1],
            "expandable_segments no-effect");
}

TEST(KnobAudit, the_installed_pytorch_decides_which_options_there_are) {
  auto facts = card();
  facts.python.torch.version = fact(std::string("2.4.1+rocm6.0"));
  facts.python.torch.rocm = fact(std::string("6.0"));
  facts.python.torch.kind = fact(facts::TorchKind::rocm);
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=expandable_segments:True", facts)[1],
            "expandable_segments no-effect");
  EXPECT_EQ(verdicts("PYTORCH_ALLOC_CONF=max_split_size_mb:64", facts)[0],
            "PYTORCH_ALLOC_CONF no-effect");
  facts.python.torch.version = fact(std::string("2.12.0+rocm7.14"));
  facts.python.torch.rocm = fact(std::string("7.14"));
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=expandable_segments:True", facts),
            (Lines{"PYTORCH_HIP_ALLOC_CONF deprecated", "expandable_segments keep"}));
  EXPECT_EQ(verdicts("PYTORCH_ALLOC_CONF=expandable_segments:True,max_split_size_mb:64", facts)[1],
            "expandable_segments contradictory");
  facts.python.torch.kind = fact(facts::TorchKind::cuda);
  EXPECT_EQ(verdicts("PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:64", facts)[0],
            "PYTORCH_HIP_ALLOC_CONF no-effect");
}

TEST(KnobAudit, a_threshold_needs_a_fraction) {
  EXPECT_EQ(verdicts("PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.8", card())[1],
            "garbage_collection_threshold no-effect");
  EXPECT_EQ(verdicts("PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.8,"
                     "per_process_memory_fraction:0.9",
                     card())[1],
            "garbage_collection_threshold keep");
}

TEST(KnobAudit, a_cache_tuned_and_switched_off_contradicts_itself) {
  const char* snippet =
      "export PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:64\nexport "
      "PYTORCH_NO_HIP_MEMORY_CACHING=1\n";
  EXPECT_EQ(verdicts(snippet, card()),
            (Lines{"PYTORCH_HIP_ALLOC_CONF keep", "max_split_size_mb contradictory",
                   "PYTORCH_NO_HIP_MEMORY_CACHING contradictory"}));
  EXPECT_EQ(cleaned(snippet, card()),
            (Lines{"export PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:64"}));
}

TEST(KnobAudit, the_stream_ordered_pool_ignores_the_caches_options) {
  EXPECT_EQ(
      verdicts("PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync,max_split_size_mb:64", card())[2],
      "max_split_size_mb contradictory");
  EXPECT_EQ(verdicts("PYTORCH_CUDA_ALLOC_CONF=backend:native,max_split_size_mb:64", card())[2],
            "max_split_size_mb keep");
}

TEST(KnobAudit, masks_together_must_leave_a_gpu) {
  const auto two = machine({gpu("gfx1100", false, 20_GiB), gpu("gfx1100", false, 20_GiB)});
  EXPECT_EQ(verdicts("ROCR_VISIBLE_DEVICES=1\nHIP_VISIBLE_DEVICES=1", two),
            (Lines{"ROCR_VISIBLE_DEVICES keep", "HIP_VISIBLE_DEVICES contradictory"}));
  EXPECT_EQ(verdicts("ROCR_VISIBLE_DEVICES=1\nHIP_VISIBLE_DEVICES=0", two)[1],
            "HIP_VISIBLE_DEVICES keep");
  EXPECT_EQ(verdicts("HIP_VISIBLE_DEVICES=0,2", two)[0], "HIP_VISIBLE_DEVICES contradictory");
  EXPECT_EQ(verdicts("HIP_VISIBLE_DEVICES=0\nCUDA_VISIBLE_DEVICES=1", two)[1],
            "CUDA_VISIBLE_DEVICES contradictory");
  EXPECT_EQ(verdicts("HIP_VISIBLE_DEVICES=-1", two)[0], "HIP_VISIBLE_DEVICES contradictory");
  EXPECT_EQ(verdicts("ROCR_VISIBLE_DEVICES=GPU-0123456789abcdef", two)[0],
            "ROCR_VISIBLE_DEVICES keep");
}

TEST(KnobAudit, aids_count_only_where_they_are_on) {
  EXPECT_EQ(
      verdicts("AMD_SERIALIZE_KERNEL=3\nAMD_LOG_LEVEL=0\nNCCL_DEBUG=WARN", card()),
      (Lines{"AMD_SERIALIZE_KERNEL debugging", "AMD_LOG_LEVEL keep", "NCCL_DEBUG no-effect"}));
  EXPECT_EQ(verdicts("HSA_ENABLE_SDMA=1\nHSA_ENABLE_SDMA=0", card())[1],
            "HSA_ENABLE_SDMA debugging");
}

TEST(KnobAudit, words_that_the_runtime_ignores_are_said) {
  const auto judged = audit("HSA_ENABLE_SDMA=false", card());
  EXPECT_EQ(judged[0].verdict, KnobVerdict::unknown);
  EXPECT_NE(judged[0].advice.find("HSA_ENABLE_SDMA=0"), std::string::npos);
}

TEST(KnobAudit, overrides_are_judged_by_the_gpu) {
  EXPECT_EQ(verdicts("HSA_OVERRIDE_GFX_VERSION=11.0.0", card())[0],
            "HSA_OVERRIDE_GFX_VERSION no-effect");
  EXPECT_EQ(verdicts("HSA_OVERRIDE_GFX_VERSION=10.3.0", card())[0],
            "HSA_OVERRIDE_GFX_VERSION dangerous");
  EXPECT_EQ(
      verdicts("HSA_OVERRIDE_GFX_VERSION=10.3.0", machine({gpu("gfx1031", false, 12_GiB)}))[0],
      "HSA_OVERRIDE_GFX_VERSION keep");
}

TEST(KnobAudit, no_override_stays_on_a_gpu_that_check_calls_unsuitable) {
  auto facts = machine({gpu("gfx90c", true, 512_MiB)});
  facts.gpus[0].support = fact(knowledge::Support::unsupported);
  const auto judged = audit("export HSA_OVERRIDE_GFX_VERSION=9.0.0", facts);
  EXPECT_EQ(judged[0].verdict, KnobVerdict::dangerous);
  EXPECT_FALSE(judged[0].remains);
  EXPECT_NE(judged[0].advice.find("CPU"), std::string::npos) << judged[0].advice;
  EXPECT_EQ(judged[0].why.find("wheels"), std::string::npos) << judged[0].why;
}

TEST(KnobAudit, wheels_are_named_only_for_targets_that_some_carry) {
  const auto of = [](const char* gfx, const char* value) {
    return audit(std::string("export HSA_OVERRIDE_GFX_VERSION=") + value,
                 machine({gpu(gfx, true, 512_MiB)}))[0]
        .why;
  };
  EXPECT_NE(of("gfx1151", "11.0.0").find("need no override"), std::string::npos);
  EXPECT_NE(of("gfx909", "9.0.0").find("no wheel includes code"), std::string::npos);
}

TEST(KnobAudit, what_stays_never_holds_a_pair_that_excludes_each_other) {
  // Without the switched-off cache in the way, the pair still excludes each other.
  const std::string pair = "PYTORCH_HIP_ALLOC_CONF=expandable_segments:True,max_split_size_mb:32";
  const Lines kept = {"export PYTORCH_HIP_ALLOC_CONF=max_split_size_mb:32"};
  EXPECT_EQ(cleaned("export " + pair, card()), kept);
  EXPECT_EQ(cleaned("export " + pair + "\nexport PYTORCH_NO_HIP_MEMORY_CACHING=1\n", card()), kept);
  EXPECT_EQ(verdicts("export " + pair, card()),
            (Lines{"PYTORCH_HIP_ALLOC_CONF keep", "expandable_segments contradictory",
                   "max_split_size_mb keep"}));
}

TEST(KnobAudit, no_option_is_promised_to_work_where_it_may_not_exist) {
  const char* snippet =
      "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True\n"
      "export PYTORCH_NO_HIP_MEMORY_CACHING=1\n";
  EXPECT_NE(audit(snippet, card())[1].advice.find("if this is ROCm 7.0 and PyTorch 2.12 or later"),
            std::string::npos)
      << audit(snippet, card())[1].advice;
}

TEST(KnobAudit, some_mean_nothing_on_some_gpus) {
  EXPECT_EQ(verdicts("HSA_XNACK=1", card())[0], "HSA_XNACK no-effect");
  EXPECT_EQ(verdicts("HSA_XNACK=1", machine({gpu("gfx90a", false, 64_GiB)}))[0], "HSA_XNACK keep");
  EXPECT_EQ(verdicts("HSA_XNACK=1", machine({}))[0], "HSA_XNACK keep");
}

TEST(KnobAudit, typing_errors_name_what_was_meant) {
  const auto judged = audit("export HSA_OVERIDE_GFX_VERSION=11.0.0 TOKEN=secret\n", card());
  EXPECT_EQ(judged[0].verdict, KnobVerdict::unknown);
  EXPECT_NE(judged[0].advice.find("HSA_OVERRIDE_GFX_VERSION"), std::string::npos);
  EXPECT_FALSE(judged[1].ours);
  EXPECT_EQ(verdicts("options amdgpu gtt_size=5 dc=1", apu()),
            (Lines{"amdgpu.gtt_size unknown", "amdgpu.dc keep"}));
}

TEST(KnobAudit, what_is_not_exported_has_no_effect_and_is_exported_in_what_stays) {
  const char* snippet = "export HSA_XNACK=0\nHIP_VISIBLE_DEVICES=0\n";
  EXPECT_EQ(verdicts(snippet, machine({}))[1], "HIP_VISIBLE_DEVICES no-effect");
  EXPECT_EQ(cleaned(snippet, machine({})),
            (Lines{"export HSA_XNACK=0", "export HIP_VISIBLE_DEVICES=0"}));
}

TEST(KnobAudit, the_later_of_two_in_a_file_counts) {
  EXPECT_EQ(verdicts("OMP_NUM_THREADS=1\nOMP_NUM_THREADS=4\n", card()),
            (Lines{"OMP_NUM_THREADS no-effect", "OMP_NUM_THREADS keep"}));
}

TEST(KnobAudit, two_spellings_with_two_values_contradict) {
  EXPECT_EQ(
      verdicts("PYTORCH_NO_HIP_MEMORY_CACHING=0\nPYTORCH_NO_CUDA_MEMORY_CACHING=1", card())[0],
      "PYTORCH_NO_HIP_MEMORY_CACHING contradictory");
}

TEST(KnobAudit, the_ttm_that_is_not_in_use_is_renamed) {
  auto facts = apu();
  facts.machine.ttm_module = "amdttm";
  facts.machine.pages_limit = fact(62_GiB);
  EXPECT_EQ(cleaned("options ttm pages_limit=31457280", facts),
            (Lines{"options amdttm pages_limit=31457280"}));
}

TEST(KnobAudit, what_stays_keeps_its_form) {
  EXPECT_EQ(cleaned("ENV OMP_NUM_THREADS=4", card()), (Lines{"ENV OMP_NUM_THREADS=4"}));
  EXPECT_EQ(cleaned("[Service]\nEnvironment=OMP_NUM_THREADS=4", card()),
            (Lines{"Environment=\"OMP_NUM_THREADS=4\""}));
  EXPECT_EQ(cleaned("environment:\n  OMP_NUM_THREADS: 4", card()),
            (Lines{"OMP_NUM_THREADS: \"4\""}));
  EXPECT_EQ(cleaned("ro quiet amdgpu.dc=1 amd_iommu=off amdgpu.vramlimit=1024", card()),
            (Lines{"# on the kernel command line:", "amdgpu.dc=1 amd_iommu=off"}));
}

TEST(KnobAudit, what_stays_needs_no_second_audit) {
  for (const char* snippet :
       {"export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True,max_split_size_mb:32,"
        "garbage_collection_threshold:0.9\nexport PYTORCH_NO_HIP_MEMORY_CACHING=1 AMD_LOG_LEVEL=4\n"
        "HIP_VISIBLE_DEVICES=0\n",
        "options ttm pages_limit=122880\noptions amdgpu vm_size=131072 gtt_size=4",
        "OMP_NUM_THREADS=1\nOMP_NUM_THREADS=4\nHSA_ENABLE_SDMA=off\n"}) {
    const auto once = cleaned(snippet, apu());
    EXPECT_FALSE(once.empty());
    EXPECT_EQ(cleaned(join(once, "\n") + "\n", apu()), once) << snippet;
  }
}

TEST(KnobAudit, what_the_only_stack_for_a_card_lacks_has_no_effect_whatever_is_installed) {
  const std::string snippet = "export PYTORCH_HIP_ALLOC_CONF=expandable_segments:True\n";
  const auto old = verdicts(snippet, machine({gpu("gfx906", false, 32_GiB)}));
  EXPECT_EQ(old.back(), "expandable_segments no-effect");
  EXPECT_EQ(verdicts(snippet, card()).back(), "expandable_segments keep");
  // Beside a card that newer stacks support nobody knows which of them is meant.
  const auto both =
      verdicts(snippet, machine({gpu("gfx906", false, 32_GiB), gpu("gfx1100", false, 20_GiB)}));
  EXPECT_EQ(both.back(), "expandable_segments keep");
}

}  // namespace
}  // namespace headroom::findings
