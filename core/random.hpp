#pragma once
// Random numbers as a pure function of (seed, purpose, index), independent of rank, thread and call order.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cosmo::core {

/// Seeds are below this limit, so that JSON, whose numbers are doubles, keeps them exactly.
inline constexpr std::uint64_t kSeedLimit = std::uint64_t{1} << 53;

/// What a random number is used for. Two purposes never share a number. Every file ever written depends on
/// these values: add new ones, never change any.
enum class Purpose : std::uint32_t {
  gaussian_field = 1,
  design = 2,
  simulation_seed = 3,
  split = 4,
  shard_assignment = 5,
  initial_weights = 6,
  sample_order = 7,
  augmentation = 8,
  bootstrap = 9,
  dropout = 10,
  roll = 11,
  cross_validation = 12,
  forecast = 13,
  uniform_band = 14,
  reference_point = 15,
  posterior_draw = 16,
  posterior_sample = 17,
  density_fit = 18,
  tracers = 19,
};

/// Counter-based random numbers for one (seed, purpose).
/// Source: Philox4x32-10 of Salmon et al. 2011 (doi:10.1145/2063384.2063405), as in Random123.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Purpose purpose) : seed_(seed), purpose_(purpose) {}

  using Index = std::array<std::uint32_t, 3>;

  /// Four independent 32-bit words at `index`.
  std::array<std::uint32_t, 4> words(Index index) const;
  /// Uniform in [0, 1) with 53 bits.
  double uniform(Index index) const;
  /// Two independent uniform numbers, the first of which is uniform(index).
  std::array<double, 2> uniforms(Index index) const;
  /// Two independent normal deviates (mean 0, variance 1), by the Box-Muller transform.
  std::array<double, 2> normals(Index index) const;

 private:
  std::uint64_t seed_;
  Purpose purpose_;
};

/// The numbers 0 … size-1 in an order that is a pure function of (stream, epoch): a Fisher-Yates shuffle.
std::vector<std::uint32_t> shuffled(const RandomStream& stream, std::uint32_t size, std::uint32_t epoch = 0);

}  // namespace cosmo::core
