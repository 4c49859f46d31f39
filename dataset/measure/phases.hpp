#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace cosmo::dataset {

/// For each row the simulation of the first row with its seed: universes of one seed have the same initial phases and are
/// not independent. `row_of` gives a row's `simulation` and `seed`.
template <class Rows, class RowOf>
std::vector<std::uint32_t> phases_of(const Rows& rows, RowOf&& row_of) {
  std::map<std::uint64_t, std::uint32_t> first;
  std::vector<std::uint32_t> phases;
  for (const auto& row : rows) {
    const auto& of = row_of(row);
    phases.push_back(first.emplace(of.seed, of.simulation).first->second);
  }
  return phases;
}

}  // namespace cosmo::dataset
