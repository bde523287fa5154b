// SPDX-License-Identifier: Apache-2.0
#include "trainer/ranks/rank_place.h"

#include <fmt/format.h>

#include <array>

#include "base/printable.h"
#include "base/text.h"
#include "run/job_ranks.h"

namespace headroom::trainer {
namespace {

// What a launcher tells each of the processes that it starts.
struct Launcher {
  const char* ranks;
  const char* rank;
  const char* on_this_machine;
  const char* example;  // How it is told where rank 0 is.
};

// SLURM_STEP_NUM_TASKS is srun's; in the script of a job, which is one process, it is not there
// while SLURM_NTASKS is.
constexpr std::array<Launcher, 4> launchers = {{
    {"WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE",
     "torchrun sets it; on one machine: headroom run --ranks 2 JOB"},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500 …, with the host of rank 0"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE",
     "export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)"},
    {"PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS",
     "mpiexec -genv MASTER_ADDR HOST -genv MASTER_PORT 29500 …, with the host of rank 0"},
}};

constexpr std::uint64_t usual_port = 29500;  // torchrun's.
constexpr std::uint64_t most_port = 65535;

Result<std::uint32_t> number_in(const Variables& variables, const char* name, std::uint64_t least,
                                std::uint64_t most, const char* next) {
  const auto text = variables(name);
  const auto number = text ? parse_u64(*text) : std::nullopt;
  if (number && *number >= least && *number <= most) return static_cast<std::uint32_t>(*number);
  return Error{Errc::invalid,
               fmt::format("{}: expected a number from {} to {}, found {}", name, least, most,
                           text ? "\"" + printable(*text) + "\"" : "nothing"),
               next};
}

Result<RankPlace> place_of_headroom(const Variables& variables, const std::string& job) {
  constexpr const char* next = "headroom run --ranks 2 JOB sets it";
  const auto lost = variables("HEADROOM_RANKS_LOST");
  RankPlace place{.job = job,
                  .goes_on = lost == "continue" || lost == "restart",
                  .admits = lost == "restart",
                  .comes_back = lost == "restart" && variables("HEADROOM_RANKS_AGAIN") == "1"};
  HEADROOM_TRY(place.ranks, number_in(variables, "WORLD_SIZE", 1, run::most_job_ranks, next));
  HEADROOM_TRY(place.rank, number_in(variables, "RANK", 0, place.ranks - 1, next));
  place.on_this_machine = place.ranks;
  if (place.ranks == 1) return RankPlace{};
  return place;
}

// torchrun listens on MASTER_PORT itself where it keeps the ranks' meeting place, whose language
// changes from one PyTorch to the next; rank 0 takes the port behind it then.
Result<std::uint16_t> port_in(const Variables& variables) {
  if (variables("HEADROOM_MASTER_PORT")) {
    HEADROOM_TRY(const std::uint32_t own,
                 number_in(variables, "HEADROOM_MASTER_PORT", 1, most_port,
                           "a port that is free on the machine of rank 0"));
    return static_cast<std::uint16_t>(own);
  }
  const bool is_taken = variables("TORCHELASTIC_USE_AGENT_STORE") == "True";
  std::uint32_t port = usual_port;
  if (variables("MASTER_PORT")) {
    HEADROOM_TRY(port, number_in(variables, "MASTER_PORT", 1, is_taken ? most_port - 1 : most_port,
                                 "the same port for all ranks, free on the machine of rank 0"));
  }
  return static_cast<std::uint16_t>(is_taken ? port + 1 : port);
}

Result<RankPlace> place_of(const Launcher& launcher, const Variables& variables) {
  constexpr const char* next = "the launcher of the ranks sets it";
  RankPlace place;
  HEADROOM_TRY(place.ranks, number_in(variables, launcher.ranks, 1, run::most_job_ranks, next));
  HEADROOM_TRY(place.rank, number_in(variables, launcher.rank, 0, place.ranks - 1, next));
  const auto near = variables(launcher.on_this_machine);
  // Slurm's is a list such as "2(x3),1" unless all machines have as many: then its first number
  // is taken, which divides the memory into no larger parts than others.
  place.on_this_machine = place.ranks;
  if (near) {
    const auto number = parse_u64(near->substr(0, near->find_first_of("(,")));
    if (number && *number >= 1 && *number <= place.ranks)
      place.on_this_machine = static_cast<std::uint32_t>(*number);
  }
  const auto host = variables("MASTER_ADDR");
  if (!host || host->empty()) {
    return Error{Errc::invalid,
                 fmt::format("{}={}, MASTER_ADDR: expected the machine of rank 0, found nothing",
                             launcher.ranks, place.ranks),
                 launcher.example};
  }
  Rendezvous rendezvous{.host = *host};
  HEADROOM_TRY(rendezvous.port, port_in(variables));
  if (variables("TORCHELASTIC_RESTART_COUNT")) {
    HEADROOM_TRY(rendezvous.tried,
                 number_in(variables, "TORCHELASTIC_RESTART_COUNT", 0, UINT32_MAX, next));
  }
  place.rendezvous = std::move(rendezvous);
  return place;
}

}  // namespace

Result<RankPlace> read_rank_place(const Variables& variables) {
  const auto job = variables("HEADROOM_RANKS_JOB");
  if (job && !job->empty()) return place_of_headroom(variables, *job);
  for (const Launcher& launcher : launchers) {
    const auto ranks = variables(launcher.ranks);
    if (ranks && parse_u64(*ranks).value_or(1) > 1) return place_of(launcher, variables);
  }
  return RankPlace{};
}

}  // namespace headroom::trainer
