#include "core/run/launch.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"

namespace cosmo::core {

namespace {

long number_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? 0 : std::strtol(value, nullptr, 10);
}

bool has(const char* variable) { return std::getenv(variable) != nullptr; }

/// The number of tasks of srun; 0 if it has not started this process. A batch script itself has the variables of the job, too.
long slurm_tasks() {
  if (const long step = number_of("SLURM_STEP_NUM_TASKS"); step > 0) return step;
  const char* environment = std::getenv("ENVIRONMENT");
  const bool batch =
      environment != nullptr && std::string_view(environment) == "BATCH" && number_of("SLURM_PROCID") == 0;
  return has("SLURM_PROCID") && !batch ? number_of("SLURM_NTASKS") : 0;
}

}  // namespace

std::size_t process_number() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (has(name)) return static_cast<std::size_t>(number_of(name));
  }
  return 0;
}

void prepare_single_process() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMI_SIZE", "SLURM_PROCID"}) {
    if (has(name)) return;
  }
  setenv("HOME", "/", 0);
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

void prepare_limits() {
  const bool several =
      number_of("OMPI_COMM_WORLD_SIZE") > 1 || number_of("PMI_SIZE") > 1 || slurm_tasks() > 1;
  struct Limit {
    int resource;
    rlim_t least, wanted;
    const char* remedy;
  };
  constexpr rlim_t kMiB = 1 << 20;
  for (const auto& [resource, least, wanted, remedy] :
       {Limit{RLIMIT_STACK, kMiB, kMiB, "stack is limited to {} bytes: raise it (ulimit -s 8192)"},
        Limit{RLIMIT_NOFILE, 64, 4096, "process may open {} files: raise the limit (ulimit -n 1024)"},
        Limit{RLIMIT_FSIZE, several ? 8 * kMiB : 0, 8 * kMiB,
              "files are limited to {} bytes, too few for the memory that ranks share: raise it (ulimit -f "
              "unlimited)"}}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur >= wanted) continue;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    (void)::setrlimit(resource, &limit);
    ensure(limit.rlim_cur >= least, Fault::config, "The {}.",
           fmt::format(fmt::runtime(remedy), limit.rlim_cur));
  }
}

void check_launch(int ranks) {
  if (ranks > 1 || number_of("OMPI_COMM_WORLD_SIZE") == 1) return;
  struct Launcher {
    const char* name;
    long tasks;
    const char* remedy;
  };
  for (const auto& [name, tasks, remedy] :
       {Launcher{"mpirun of Open MPI", number_of("OMPI_COMM_WORLD_SIZE"),
                 "use the mpirun of the MPI that this tool is built with"},
        Launcher{"a launcher by PMI", number_of("PMI_SIZE"),
                 "use the mpirun of the MPI that this tool is built with"},
        Launcher{"Slurm", slurm_tasks(), "use srun --mpi=pmix, or mpirun"}}) {
    ensure(tasks <= 1, Fault::config,
           "{} has started {} processes, and MPI has one rank, so that each would do all of the work: {}.",
           name, tasks, remedy);
  }
}

}  // namespace cosmo::core
