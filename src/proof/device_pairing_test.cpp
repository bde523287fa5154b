// SPDX-License-Identifier: Apache-2.0
#include "proof/device_pairing.h"

#include <gtest/gtest.h>

namespace headroom::proof {
namespace {

facts::Gpu make_gpu(const std::string& pci, Bytes limit, Bytes used, bool integrated) {
  facts::Gpu gpu;
  gpu.pci = pci;
  gpu.name = "GPU at " + pci;
  gpu.kfd_id = {std::uint64_t{7}, facts::Source{"test", 1, ""}};
  gpu.integrated = {integrated, facts::Source{"test", 1, ""}};
  facts::Rung rung;
  rung.name = "vram";
  rung.limit = {limit, facts::Source{"test", 1, ""}};
  rung.used = {used, facts::Source{"test", 1, ""}};
  rung.applies = rung.binding = true;
  gpu.ladder.rungs.push_back(rung);
  return gpu;
}

facts::Facts make_facts(std::vector<facts::Gpu> gpus, Bytes available) {
  facts::Facts facts;
  facts.gpus = std::move(gpus);
  facts.machine.memory.available = {available, facts::Source{"test", 1, ""}};
  return facts;
}

SeenDevice seen_at(std::optional<std::string> pci) {
  return {"cuda:0", "a card", std::move(pci), "gfx1100", 1 << 30, 2U << 30U};
}

TEST(PairDevices, pci_address_tells_and_another_card_is_unseen) {
  const facts::Facts facts = make_facts({make_gpu("0000:03:00.0", 20_GiB, 0_GiB, false),
                                         make_gpu("0000:07:00.0", 20_GiB, 2_GiB, false)},
                                        64_GiB);
  const Pairing pairing = pair_devices({seen_at("0000:07:00.0")}, facts);
  ASSERT_EQ(pairing.devices.size(), 1);
  EXPECT_EQ(pairing.devices[0].gpu, &facts.gpus[1]);
  EXPECT_EQ(pairing.devices[0].device, "0000:07:00.0");
  EXPECT_EQ(pairing.devices[0].memory, 18_GiB - Bytes{18_GiB .value / 100 * 3});
  ASSERT_EQ(pairing.unseen.size(), 1);
  EXPECT_EQ(pairing.unseen[0], &facts.gpus[0]);
}

TEST(PairDevices, one_of_each_is_that_one) {
  const facts::Facts facts = make_facts({make_gpu("0000:03:00.0", 4_GiB, 0_GiB, false)}, 64_GiB);
  const Pairing pairing = pair_devices({seen_at(std::nullopt)}, facts);
  EXPECT_EQ(pairing.devices[0].gpu, facts.gpus.data());
  EXPECT_EQ(pairing.devices[0].memory, 4_GiB - 512_MiB);
  EXPECT_TRUE(pairing.unseen.empty());
}

TEST(PairDevices, another_makers_card_is_none_of_ours) {
  const facts::Facts facts = make_facts({make_gpu("0000:03:00.0", 4_GiB, 0_GiB, true)}, 64_GiB);
  SeenDevice seen = seen_at(std::nullopt);
  seen.target.reset();
  const Pairing pairing = pair_devices({seen}, facts);
  EXPECT_EQ(pairing.devices[0].gpu, nullptr);
  EXPECT_EQ(pairing.devices[0].device, "cuda:0");
  EXPECT_EQ(pairing.devices[0].memory, Bytes{(1_GiB).value / 10 * 9});
}

TEST(PairDevices, apu_leaves_the_system_its_memory) {
  const facts::Facts facts = make_facts({make_gpu("0000:03:00.0", 60_GiB, 0_GiB, true)}, 10_GiB);
  EXPECT_EQ(pair_devices({seen_at("0000:03:00.0")}, facts).devices[0].memory, 8_GiB);
  const facts::Facts full = make_facts({make_gpu("0000:03:00.0", 60_GiB, 0_GiB, true)}, 1_GiB);
  EXPECT_EQ(pair_devices({seen_at("0000:03:00.0")}, full).devices[0].memory, 0_GiB);
}

TEST(MakeProcessor, small_machine_keeps_its_memory) {
  EXPECT_EQ(make_processor(make_facts({}, 64_GiB)).memory, 1_GiB);
  EXPECT_EQ(make_processor(make_facts({}, 1_GiB)).memory, 128_MiB);
}

}  // namespace
}  // namespace headroom::proof
