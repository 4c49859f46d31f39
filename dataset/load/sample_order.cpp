#include "dataset/load/sample_order.hpp"

#include "core/random.hpp"

namespace cosmo::dataset {

std::vector<std::uint32_t> sample_order(std::uint64_t seed, std::uint32_t epoch, std::uint32_t samples) {
  return core::shuffled(core::RandomStream(seed, core::Purpose::sample_order), samples, epoch);
}

}  // namespace cosmo::dataset
