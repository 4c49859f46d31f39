#include "core/cpu/compiled_for.hpp"

namespace cosmo::core {

const Instructions compiled_for = {
#ifdef __AVX512F__
    .avx512f = true,
#endif
#ifdef __AVX512VL__
    .avx512vl = true,
#endif
#ifdef __AVX512BW__
    .avx512bw = true,
#endif
#ifdef __AVX512DQ__
    .avx512dq = true,
#endif
#ifdef __AVX512VBMI2__
    .avx512vbmi2 = true,
#endif
#ifdef __AVX512VNNI__
    .avx512vnni = true,
#endif
#ifdef __AVX512BF16__
    .avx512bf16 = true,
#endif
};

}  // namespace cosmo::core
