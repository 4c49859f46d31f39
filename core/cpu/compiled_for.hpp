#pragma once
// Private to core/cpu: instructions that the tools may contain.

namespace cosmo::core {

/// Extensions of x86-64. Those that only come together with one of them are left out.
struct Instructions {
  bool avx2 = true, fma = true, bmi2 = true;  ///< x86-64-v3, the least that the kernels of networks need
  bool avx512f = false, avx512vl = false, avx512bw = false, avx512dq = false, avx512vbmi2 = false,
       avx512vnni = false, avx512bf16 = false;
};

/// What all code but check_cpu.cpp may use.
extern const Instructions compiled_for;

}  // namespace cosmo::core
