#include "sim/suite/design.hpp"

#include <algorithm>
#include <array>
#include <boost/random/sobol.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/random.hpp"

namespace cosmo::sim {

namespace {

using core::ensure, core::fail, core::Fault;

void validate(const core::ParameterSpace& varying) {
  for (std::size_t p = 0; p < varying.size(); ++p) {
    const std::string& name = varying.names[p];
    const double low = varying.low[p], high = varying.high[p];
    const auto& row = core::row_called(core::kCosmologyParameters, name, "cosmological parameter");
    ensure(low < high && low >= row.low && high <= row.high, Fault::config,
           "{} is to vary from {} to {}: choose a range within {} to {}, the smaller value first.", name, low,
           high, row.low, row.high);
    ensure(std::ranges::count(varying.names, name) == 1, Fault::config, "{} is to vary twice: name it once.",
           name);
  }
}

/// The universe in which varying[p] is at its upper end if bit p of `corner` is set, else at its lower end.
core::Cosmology at_corner(core::Cosmology cosmology, const core::ParameterSpace& varying, unsigned corner) {
  for (std::size_t p = 0; p < varying.size(); ++p) {
    cosmology.*core::find_cosmology_parameter(varying.names[p])->member =
        (corner >> p & 1) == 0 ? varying.low[p] : varying.high[p];
  }
  return cosmology;
}

/// Why the universe is impossible; nothing if it is possible.
std::optional<std::string> objection(const core::Cosmology& cosmology) {
  try {
    core::validate(cosmology);
  } catch (const core::Error& error) {
    return error.what();
  }
  return std::nullopt;
}

/// Throws Error{config} if a corner of the ranges is impossible, naming the ranges responsible. The
/// conditions on a universe are linear, so if all corners are possible, all universes are.
void validate_corners(const core::Cosmology& base, const core::ParameterSpace& varying) {
  for (unsigned corner = 0; corner < 1u << varying.size(); ++corner) {
    const auto wrong = objection(at_corner(base, varying, corner));
    if (!wrong) continue;
    std::vector<std::string> ranges;
    for (std::size_t p = 0; p < varying.size(); ++p) {
      if (objection(at_corner(base, varying, corner ^ 1u << p))) continue;
      ranges.push_back(fmt::format("{} from {} to {}", varying.names[p], varying.low[p], varying.high[p]));
    }
    ensure(!ranges.empty(), Fault::config, "{}", *wrong);
    fail(Fault::config, "Varying {} reaches impossible universes: {}", fmt::join(ranges, " and "), *wrong);
  }
}

/// The parameter's row in the table, which is the number of its stream. The table grows only at its end.
std::uint32_t row_of(const std::string& name) {
  const auto* row = core::find_cosmology_parameter(name);
  return static_cast<std::uint32_t>(row - core::kCosmologyParameters.data());
}

/// Places each varying parameter in its range.
std::vector<core::Universe> place_all(const core::Cosmology& base, const core::ParameterSpace& varying,
                                      int simulations, std::uint64_t seed, const Placement& place) {
  ensure(simulations >= 1, Fault::config, "A suite of {} simulations is empty: ask for 1 or more.",
         simulations);
  validate(varying);
  validate_corners(base, varying);
  std::vector<core::Universe> universes;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(simulations); ++i) {
    core::Universe universe{universe_seed(seed, i), base};
    for (std::size_t p = 0; p < varying.size(); ++p) {
      universe.cosmology.*core::find_cosmology_parameter(varying.names[p])->member =
          varying.low[p] + (varying.high[p] - varying.low[p]) * place(i, row_of(varying.names[p]), 0);
    }
    universes.push_back(universe);
  }
  return universes;
}

}  // namespace

std::uint64_t universe_seed(std::uint64_t suite_seed, std::uint32_t index) {
  const core::RandomStream seeds(suite_seed, core::Purpose::simulation_seed);
  return static_cast<std::uint64_t>(seeds.uniform({index, 0, 0}) * 0x1.0p53);
}

Placement uniform_placement(std::uint64_t seed) {
  const core::RandomStream values(seed, core::Purpose::design);
  return [values](std::uint32_t index, std::uint32_t row, std::uint32_t attempt) {
    return values.uniform({index, row, attempt == 0 ? 0 : attempt + 1});  // 1 is for shifts
  };
}

Placement sobol_placement(std::uint64_t seed) {
  constexpr std::uint32_t kMostSettings = 16;
  constexpr std::uint32_t kRows = kFirstSettingRow + kMostSettings;
  const core::RandomStream shifts(seed, core::Purpose::design);
  return [shifts, again = uniform_placement(seed), sequence = boost::random::sobol(kRows),
          point = std::array<double, kRows>{},
          drawn = std::uint32_t{0}](std::uint32_t index, std::uint32_t row, std::uint32_t attempt) mutable {
    if (attempt > 0) return again(index, row, attempt);
    for (; drawn <= index; ++drawn) {
      for (double& coordinate : point) coordinate = static_cast<double>(sequence() >> 11) * 0x1.0p-53;
    }
    const double shifted = point[row] + shifts.uniform({0, row, 1});
    return shifted < 1 ? shifted : shifted - 1;
  };
}

std::vector<core::Universe> uniform_design(const core::Cosmology& base, const core::ParameterSpace& varying,
                                           int simulations, std::uint64_t seed) {
  return place_all(base, varying, simulations, seed, uniform_placement(seed));
}

std::vector<core::Universe> sobol_design(const core::Cosmology& base, const core::ParameterSpace& varying,
                                         int simulations, std::uint64_t seed) {
  return place_all(base, varying, simulations, seed, sobol_placement(seed));
}

}  // namespace cosmo::sim
