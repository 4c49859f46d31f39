#pragma once
// What launchers (mpirun, srun) leave in the environment of the processes that they start.

#include <cstddef>

namespace cosmo::core {

/// The number of this process among those of its launch, before MPI is started; 0 without a launcher.
std::size_t process_number();

/// Lets a process that no launcher started begin no daemon of Open MPI's, which prints errors of PMIx for ordinary users, and make no
/// directory, which all those of a user share and which one that ends removes while another begins. Without HOME neither Open MPI 4
/// nor 5 starts for a user whom the system does not know. Call before MPI is started.
void prepare_single_process();

/// Raises this process's limit of open files as far as it may, since many shards may be open. Throws Error{config} naming a limit
/// that is too low for MPI itself, which would end the process in another way, or wait for ever.
void prepare_limits();

/// Throws Error{config} if the launcher states more processes than the one rank that MPI has: each would do all of the work.
void check_launch(int ranks);

}  // namespace cosmo::core
