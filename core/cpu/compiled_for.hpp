#pragma once
// Private to core/cpu: instructions that the compiler was allowed to use.

namespace cosmo::core {

/// Extensions of x86-64. Those that only come together with one of them are left out.
struct Instructions {
  bool avx2 = false, fma = false, bmi2 = false, avx512f = false, avx512vl = false, avx512bw = false,
       avx512dq = false, avx512vbmi2 = false, avx512vnni = false, avx512bf16 = false;
};

/// What all code but check_cpu.cpp was compiled for.
extern const Instructions compiled_for;

}  // namespace cosmo::core
