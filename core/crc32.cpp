#include <immintrin.h>
#include <zlib.h>

#include "core/checksum.hpp"

namespace cosmo::core {

namespace {

/// x^n mod CRC-32's polynomial in the bit order of the checksum, shifted up by the one bit that a product of
/// two such numbers lacks.
constexpr long long power_of_x(int n) {
  std::uint64_t power = std::uint64_t{1} << 31;  // x^0
  for (int i = 0; i < n; ++i) power = power >> 1 ^ ((power & 1) != 0 ? 0xedb88320 : 0);
  return static_cast<long long>(power << 1);
}

using Register = __m128i;
constexpr std::size_t kLane = sizeof(Register), kBlock = 4 * kLane;

[[gnu::target("pclmul,sse4.1")]] inline Register load(const std::byte* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const Register*>(bytes));
}

/// What stands for `lane` if the message goes on with `next`, `Bits` bits behind it.
template <int Bits>
[[gnu::target("pclmul,sse4.1")]] inline Register fold(Register lane, Register next) {
  const Register ahead = _mm_set_epi64x(power_of_x(Bits - 32), power_of_x(Bits + 32));
  return _mm_xor_si128(
      next, _mm_xor_si128(_mm_clmulepi64_si128(lane, ahead, 0x00), _mm_clmulepi64_si128(lane, ahead, 0x11)));
}

/// The CRC-32 of whole blocks, at least one, after bytes of CRC-32 `begun`: they are folded to 16 bytes of
/// the same checksum. Source: Gopal et al. 2009, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
/// Instruction.
[[gnu::target("pclmul,sse4.1")]] std::uint32_t crc32_of_blocks(std::span<const std::byte> bytes,
                                                               std::uint32_t begun) {
  Register lanes[4];
  for (std::size_t i = 0; i < 4; ++i) lanes[i] = load(&bytes[i * kLane]);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(~begun)));
  for (std::size_t at = kBlock; at < bytes.size(); at += kBlock) {
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = fold<8 * kBlock>(lanes[i], load(&bytes[at + i * kLane]));
  }
  for (std::size_t i = 1; i < 4; ++i) lanes[i] = fold<8 * kLane>(lanes[i - 1], lanes[i]);
  Bytef rest[kLane];
  _mm_storeu_si128(reinterpret_cast<Register*>(rest), lanes[3]);
  return static_cast<std::uint32_t>(::crc32_z(0xffffffff, rest, kLane));  // from no bits set: they are in it
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t begun) {
  static const bool fast = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  const std::size_t blocks = fast ? bytes.size() / kBlock * kBlock : 0;
  if (blocks > 0) begun = crc32_of_blocks(bytes.first(blocks), begun);
  const std::span rest = bytes.subspan(blocks);
  if (rest.empty()) return begun;
  return static_cast<std::uint32_t>(
      ::crc32_z(begun, reinterpret_cast<const Bytef*>(rest.data()), rest.size()));
}

}  // namespace cosmo::core
