#include <immintrin.h>
#include <zlib.h>

#include "core/file/checksum.hpp"

namespace cosmo::core {

namespace {

/// x^n modulo the CRC-32 polynomial, in the bit order of the checksum, shifted up by the one bit that a
/// product of two such numbers lacks.
constexpr long long power_of_x(int n) {
  std::uint64_t power = std::uint64_t{1} << 31;  // x^0
  for (int i = 0; i < n; ++i) power = power >> 1 ^ ((power & 1) != 0 ? 0xedb88320 : 0);
  return static_cast<long long>(power << 1);
}

using Register = __m128i;
constexpr std::size_t kLane = sizeof(Register), kBlock = 4 * kLane, kWideBlock = 4 * kBlock;

[[gnu::target("pclmul,sse4.1")]] inline Register load(const std::byte* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const Register*>(bytes));
}

/// Folds `lane` into `next`, which follows it by `Bits` bits.
template <int Bits>
[[gnu::target("pclmul,sse4.1")]] inline Register fold(Register lane, Register next) {
  const Register ahead = _mm_set_epi64x(power_of_x(Bits - 32), power_of_x(Bits + 32));
  return _mm_xor_si128(
      next, _mm_xor_si128(_mm_clmulepi64_si128(lane, ahead, 0x00), _mm_clmulepi64_si128(lane, ahead, 0x11)));
}

/// The CRC-32 of consecutive lanes; the CRC-32 of the preceding bytes is folded into the first one.
[[gnu::target("pclmul,sse4.1")]] std::uint32_t crc32_of_lanes(const Register* lanes, std::size_t size) {
  Register last = lanes[0];
  for (std::size_t i = 1; i < size; ++i) last = fold<8 * kLane>(last, lanes[i]);
  Bytef rest[kLane];
  _mm_storeu_si128(reinterpret_cast<Register*>(rest), last);
  return static_cast<std::uint32_t>(::crc32_z(0xffffffff, rest, kLane));  // already started
}

/// The CRC-32 of one or more whole blocks after bytes whose CRC-32 is `begun`: the blocks are folded to 16
/// bytes with the same checksum. Source: Gopal et al. 2009, Fast CRC Computation for Generic Polynomials
/// Using PCLMULQDQ Instruction.
[[gnu::target("pclmul,sse4.1")]] std::uint32_t crc32_of_blocks(std::span<const std::byte> bytes,
                                                               std::uint32_t begun) {
  Register lanes[4];
  for (std::size_t i = 0; i < 4; ++i) lanes[i] = load(&bytes[i * kLane]);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(~begun)));
  for (std::size_t at = kBlock; at < bytes.size(); at += kBlock) {
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = fold<8 * kBlock>(lanes[i], load(&bytes[at + i * kLane]));
  }
  return crc32_of_lanes(lanes, 4);
}

/// The same with four lanes in each register. Blocks are four times as large.
[[gnu::target("avx512f,vpclmulqdq,pclmul")]] std::uint32_t crc32_of_wide_blocks(
    std::span<const std::byte> bytes, std::uint32_t begun) {
  constexpr int kBits = 8 * kWideBlock;
  constexpr long long kLow = power_of_x(kBits + 32), kHigh = power_of_x(kBits - 32);
  const __m512i ahead = _mm512_set4_epi64(kHigh, kLow, kHigh, kLow);
  const std::uint32_t before[16] = {~begun};
  __m512i wides[4];
  for (std::size_t i = 0; i < 4; ++i) wides[i] = _mm512_loadu_si512(&bytes[i * sizeof(__m512i)]);
  wides[0] ^= _mm512_loadu_si512(before);
  for (std::size_t at = kWideBlock; at < bytes.size(); at += kWideBlock) {
    for (std::size_t i = 0; i < 4; ++i) {
      wides[i] = _mm512_loadu_si512(&bytes[at + i * sizeof(__m512i)]) ^
                 _mm512_clmulepi64_epi128(wides[i], ahead, 0x00) ^
                 _mm512_clmulepi64_epi128(wides[i], ahead, 0x11);
    }
  }
  Register lanes[16];
  for (std::size_t i = 0; i < 4; ++i) _mm512_storeu_si512(&lanes[4 * i], wides[i]);
  return crc32_of_lanes(lanes, 16);
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t begun) {
  static const bool fast = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  static const bool wide = fast && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  const auto pass = [&](bool supported, std::size_t block, auto&& crc32_of) {
    const std::size_t size = supported ? bytes.size() / block * block : 0;
    if (size > 0) begun = crc32_of(bytes.first(size), begun);
    bytes = bytes.subspan(size);
  };
  pass(wide, kWideBlock, crc32_of_wide_blocks);
  pass(fast, kBlock, crc32_of_blocks);
  if (bytes.empty()) return begun;
  return static_cast<std::uint32_t>(
      ::crc32_z(begun, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::size_t bytes) {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(bytes)));
}

}  // namespace cosmo::core
