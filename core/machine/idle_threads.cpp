#include "core/machine/idle_threads.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace cosmo::core {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::duration<double> kSpinning{50e-6};

/// One turn of a thread that spins, as libgomp's: it lasts from 10 to 100 ns.
void turn() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

/// How many turns take as long as threads may spin; other programs may interrupt all bursts but the fastest.
long turns() {
  constexpr int kBursts = 5, kTurns = 200;
  auto fastest = Clock::duration::max();
  for (int burst = 0; burst < kBursts; ++burst) {
    const auto start = Clock::now();
    for (int i = 0; i < kTurns; ++i) turn();
    fastest = std::min(fastest, Clock::now() - start);
  }
  return std::max(1L, std::lround(kTurns * kSpinning / std::chrono::duration<double>(fastest)));
}

}  // namespace

void limit_spinning(char** argv) {
  for (const char* variable : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}) {
    if (std::getenv(variable) != nullptr) return;
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  setenv("GOMP_SPINCOUNT", std::to_string(turns()).c_str(), 1);
  setenv("KMP_BLOCKTIME", "50us", 1);
  setenv("KMP_USE_YIELD", "0", 0);  // a thread that yields to a busy program waits for all of that one's turn
  execv(program.c_str(), argv);
}

}  // namespace cosmo::core
