#include "sim/suite/design.hpp"

#include <algorithm>
#include <array>
#include <boost/random/sobol.hpp>
#include <optional>

#include "core/error.hpp"
#include "core/random.hpp"

namespace cosmo::sim {

namespace {

using core::ensure, core::fail, core::Fault;

void validate(std::span<const VaryingParameter> varying) {
  for (const VaryingParameter& parameter : varying) {
    const auto* row = core::find_cosmology_parameter(parameter.name);
    ensure(row != nullptr, Fault::config, "There is no cosmological parameter \"{}\" to vary.",
           parameter.name);
    ensure(parameter.low < parameter.high && parameter.low >= row->low && parameter.high <= row->high,
           Fault::config,
           "{} is to vary from {} to {}: choose a range within {} to {}, the smaller value first.",
           parameter.name, parameter.low, parameter.high, row->low, row->high);
    ensure(std::ranges::count(varying, parameter.name, &VaryingParameter::name) == 1, Fault::config,
           "{} is to vary twice: name it once.", parameter.name);
  }
}

/// The universe in which varying[p] is at its upper end if bit p of `corner` is set, else at its lower end.
core::Cosmology at_corner(core::Cosmology cosmology, std::span<const VaryingParameter> varying,
                          unsigned corner) {
  for (std::size_t p = 0; p < varying.size(); ++p) {
    cosmology.*core::find_cosmology_parameter(varying[p].name)->member =
        (corner >> p & 1) == 0 ? varying[p].low : varying[p].high;
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
void validate_corners(const core::Cosmology& base, std::span<const VaryingParameter> varying) {
  for (unsigned corner = 0; corner < 1u << varying.size(); ++corner) {
    const auto wrong = objection(at_corner(base, varying, corner));
    if (!wrong) continue;
    std::vector<std::string> ranges;
    for (std::size_t p = 0; p < varying.size(); ++p) {
      if (objection(at_corner(base, varying, corner ^ 1u << p))) continue;
      ranges.push_back(fmt::format("{} from {} to {}", varying[p].name, varying[p].low, varying[p].high));
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

/// Places each varying parameter at the fraction unit(universe, row) of its range, in [0, 1).
template <class Unit>
std::vector<DesignPoint> place(const core::Cosmology& base, std::span<const VaryingParameter> varying,
                               int simulations, std::uint64_t seed, Unit&& unit) {
  ensure(simulations >= 1, Fault::config, "A suite of {} simulations is empty: ask for 1 or more.",
         simulations);
  validate(varying);
  validate_corners(base, varying);
  std::vector<DesignPoint> points;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(simulations); ++i) {
    DesignPoint point{base, universe_seed(seed, i)};
    for (const VaryingParameter& parameter : varying) {
      point.cosmology.*core::find_cosmology_parameter(parameter.name)->member =
          parameter.low + (parameter.high - parameter.low) * unit(i, row_of(parameter.name));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace

std::uint64_t universe_seed(std::uint64_t suite_seed, std::uint32_t index) {
  const core::RandomStream seeds(suite_seed, core::Purpose::simulation_seed);
  return static_cast<std::uint64_t>(seeds.uniform({index, 0, 0}) * 0x1.0p53);
}

std::vector<DesignPoint> uniform_design(const core::Cosmology& base,
                                        std::span<const VaryingParameter> varying, int simulations,
                                        std::uint64_t seed) {
  const core::RandomStream values(seed, core::Purpose::design);
  return place(base, varying, simulations, seed, [&](std::uint32_t i, std::uint32_t row) {
    return values.uniform({i, row, 0});
  });
}

std::vector<DesignPoint> sobol_design(const core::Cosmology& base, std::span<const VaryingParameter> varying,
                                      int simulations, std::uint64_t seed) {
  constexpr std::size_t kRows = core::kCosmologyParameters.size();
  const core::RandomStream shifts(seed, core::Purpose::design);
  boost::random::sobol sequence(kRows);
  std::array<double, kRows> point{};
  std::uint32_t drawn = 0;
  return place(base, varying, simulations, seed, [&](std::uint32_t i, std::uint32_t row) {
    for (; drawn <= i; ++drawn) {
      for (double& coordinate : point) coordinate = static_cast<double>(sequence() >> 11) * 0x1.0p-53;
    }
    const double shifted = point[row] + shifts.uniform({0, row, 1});
    return shifted < 1 ? shifted : shifted - 1;
  });
}

}  // namespace cosmo::sim
