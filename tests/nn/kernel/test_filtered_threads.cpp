// Filtered convolutions on several threads.
#include <omp.h>

#include <catch2/catch.hpp>
#include <vector>

#include "tests/nn/kernel/pooled_problem.hpp"

using namespace cosmo;
using namespace cosmo::test;

TEST_CASE("filtered convolutions have the same bits with any number of threads") {
  const int before = omp_get_max_threads();
  for (const FilteredConvolution& layer : kLayers) {
    std::vector<float> expected;
    for (const int threads : {1, 2, 3, 8}) {
      omp_set_num_threads(threads);
      PooledProblem problem{{nn::kernels().filter, nn::kernels().block, layer}};
      if (layer.kernel == 3 && layer.side.periodic) problem.pooling = nn::Pooling::maximum;
      problem.run();
      problem.run_pooled();
      std::vector<float> results = problem.results();
      results.insert(results.end(), problem.pooled.span().begin(), problem.pooled.span().end());
      if (threads == 1) expected = results;
      CHECK((results == expected));
    }
  }
  omp_set_num_threads(before);
}
