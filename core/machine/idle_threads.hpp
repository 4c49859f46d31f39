#pragma once
// What OpenMP threads do while they wait.

namespace cosmo::core {

/// Lets threads that wait spin for 50 us or so, and then sleep, unless the environment has OMP_WAIT_POLICY, GOMP_SPINCOUNT or
/// KMP_BLOCKTIME. By default libgomp's spin for some 4 ms and libomp's for 200: beside another program they take the time that
/// it and the others need. Without spinning a step of a small network would take three times as long (docs/guides/installing.md).
/// The libraries read their variables before main(), so this begins the program again with them; it returns if they are set,
/// or if the program cannot be begun again. Call it before any thread starts.
void limit_spinning(char** argv);

}  // namespace cosmo::core
