// Ends a tool with a sentence on a CPU that lacks instructions for which the rest was compiled: without it, the kernel
// would end it with SIGILL. Compiled for any x86-64 CPU, and it runs before all other code of the tool, so it may not
// contain functions that other files contain, too.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/cpu/compiled_for.hpp"

namespace {

using cosmo::core::compiled_for;

constexpr int kExitCode = 4;  // Fault::io, with which a job is queued again, perhaps for another machine

/// The first extension that is missing, or nullptr.
const char* missing() {
  __builtin_cpu_init();
  if (compiled_for.avx2 && !__builtin_cpu_supports("avx2")) return "AVX2";
  if (compiled_for.fma && !__builtin_cpu_supports("fma")) return "FMA";
  if (compiled_for.bmi2 && !__builtin_cpu_supports("bmi2")) return "BMI2";
  if (compiled_for.avx512f && !__builtin_cpu_supports("avx512f")) return "AVX512F";
  if (compiled_for.avx512vl && !__builtin_cpu_supports("avx512vl")) return "AVX512VL";
  if (compiled_for.avx512bw && !__builtin_cpu_supports("avx512bw")) return "AVX512BW";
  if (compiled_for.avx512dq && !__builtin_cpu_supports("avx512dq")) return "AVX512DQ";
  if (compiled_for.avx512vbmi2 && !__builtin_cpu_supports("avx512vbmi2")) return "AVX512_VBMI2";
  if (compiled_for.avx512vnni && !__builtin_cpu_supports("avx512vnni")) return "AVX512_VNNI";
  if (compiled_for.avx512bf16 && !__builtin_cpu_supports("avx512bf16")) return "AVX512_BF16";
  return nullptr;
}

[[gnu::constructor(101)]] void check_cpu() {  // 0 to 100 are the compiler's
  const char* const extension = missing();
  if (extension == nullptr) return;
  const char* const sentence[] = {
      program_invocation_short_name, ": error: This CPU has no ", extension,
      ", for which the tool was compiled: run it on a CPU that has it, or compile "
      "it for this one (x86-64-v3 or later).\n"};
  for (const char* part : sentence) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  _exit(kExitCode);
}

}  // namespace
