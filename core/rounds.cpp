#include "dataset/rounds.hpp"

#include <algorithm>

namespace cosmo::dataset {

void in_rounds(const core::Communicator& comm, std::size_t size, const std::function<void(std::size_t)>& work,
               const std::function<void(std::size_t)>& after_round) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (std::size_t first = 0; first < size; first += ranks) {
    comm.agree([&] {
      const std::size_t item = first + static_cast<std::size_t>(comm.rank());
      if (item < size) work(item);
    });
    after_round(std::min(ranks, size - first));
  }
}

}  // namespace cosmo::dataset
