#pragma once
// Private to core/cpu: instructions that the compiler was allowed to use.

namespace cosmo::core {

/// Extensions of x86-64. Those that only come together with one of them are left out.
struct Instructions {
  bool avx2, fma, bmi2, avx512f, avx512vl, avx512bw, avx512dq, avx512vbmi2, avx512vnni, avx512bf16;
};

/// What all code but check_cpu.cpp was compiled for.
extern const Instructions compiled_for;

}  // namespace cosmo::core
