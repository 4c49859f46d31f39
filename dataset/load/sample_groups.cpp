#include "dataset/load/sample_groups.hpp"

#include <string>

#include "core/error.hpp"
#include "core/run/options.hpp"

namespace cosmo::dataset {

void declare_ranks_per_sample(core::Options& options, const char* more) {
  options.add(
      "ranks-per-sample N", "1",
      std::string("ranks that share each sample, cut along x, for samples that need more memory or time than "
                  "one rank has; the others work on other samples. ") +
          more);
}

int read_ranks_per_sample(const core::Options& options, int ranks) {
  const auto shared = static_cast<int>(options.integer("ranks-per-sample", 1, 1 << 16));
  core::ensure(
      ranks % shared == 0, core::Fault::config,
      "--ranks-per-sample {} does not divide the number of ranks, {}: give a divisor, or start other ranks.",
      shared, ranks);
  return shared;
}

}  // namespace cosmo::dataset
