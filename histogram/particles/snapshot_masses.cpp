#include "histogram/particles/snapshot_masses.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "core/error.hpp"

namespace cosmo::histogram {

using core::ensure;
using core::Fault;

namespace {

constexpr std::uint64_t kRows = 1 << 18;  ///< masses that are read and summed at a time

/// Calls visit(masses, n) for each of the set's parts of kRows that is this rank's, the n-th of all.
template <class Visit>
void for_each_part(const core::Communicator& comm, const GadgetSnapshot& snapshot, const ParticleSet& set,
                   const Visit& visit) {
  std::vector<double> masses;
  const auto ranks = static_cast<std::uint64_t>(comm.size());
  for (auto part = static_cast<std::uint64_t>(comm.rank()); part * kRows < set.particles; part += ranks) {
    masses.resize(std::min(kRows, set.particles - part * kRows));
    snapshot.read_masses(set, part * kRows, masses);
    visit(std::span<const double>(masses), part);
  }
}

struct SetMasses {
  double least = HUGE_VAL, most = 0, sum = 0;
};

/// The masses of a set. Collective.
SetMasses masses_of(const core::Communicator& comm, const GadgetSnapshot& snapshot, const ParticleSet& set) {
  if (set.mass > 0) return {set.mass, set.mass, set.mass * static_cast<double>(set.particles)};
  SetMasses found;
  std::vector<double> sums((set.particles + kRows - 1) / kRows);
  comm.agree([&] {
    for_each_part(comm, snapshot, set, [&](std::span<const double> masses, std::uint64_t part) {
      const auto bad =
          std::ranges::find_if(masses, [](double mass) { return !(mass > 0 && std::isfinite(mass)); });
      ensure(bad == masses.end(), Fault::format,
             "{} has a mass of {} in row {} of type {}, which is not positive and finite: correct it.",
             set.path.string(), bad == masses.end() ? 0 : *bad,
             part * kRows + static_cast<std::uint64_t>(bad - masses.begin()), set.type);
      const auto [low, high] = std::ranges::minmax(masses);
      found.least = std::min(found.least, low);
      found.most = std::max(found.most, high);
      sums[part] = std::accumulate(masses.begin(), masses.end(), 0.0);
    });
  });
  comm.sum(std::span(sums));  // other ranks have 0
  found.least = comm.min(found.least);
  found.most = comm.max(found.most);
  found.sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return found;
}

/// The likely cause of a density that is `ratio` times that of matter.
std::string cause_of(double ratio, const core::Cosmology& cosmology) {
  const auto near = [&](double value) { return std::abs(ratio / value - 1) < 0.015; };
  for (const int power : {-9, 9, -3, 3, -10, 10, -6, 6}) {
    if (near(std::pow(10.0, power)))
      return fmt::format("lengths or masses are in another unit than stated, by 1e{}; see --length-unit",
                         power);
  }
  for (const int power : {-4, -3, -2, -1, 1, 2, 3, 4}) {
    if (near(std::pow(cosmology.h, power)))
      return fmt::format("the unit of lengths or masses lacks h or has it too often, h^{}; see --length-unit",
                         power);
  }
  const double baryons = cosmology.omega_b / cosmology.omega_m;
  if (near(1 - baryons)) return "baryons, in particles of another type or other files, are missing";
  if (near(baryons)) return "only baryons are there";
  if (ratio < 1e-3 || ratio > 1e3)
    return "lengths or masses are in another unit than stated; see --length-unit";
  return fmt::format("{}, or omega_m is {:.4g}",
                     ratio < 1 ? "files or particles are missing" : "masses are too large",
                     ratio * cosmology.omega_m);
}

}  // namespace

SnapshotMasses survey_masses(const core::Communicator& comm, const GadgetSnapshot& snapshot) {
  SnapshotMasses found{true, HUGE_VAL, 0, 0, 0.0};
  const auto add = [&](const ParticleSet& set, bool counted) {
    bool stated = set.mass > 0;
    if (!stated) comm.agree([&] { stated = snapshot.has_masses(set); });
    if (!stated) {
      found.all.reset();
      found.known = found.known && !counted;
      return;
    }
    SetMasses masses;
    try {
      masses = masses_of(comm, snapshot, set);
    } catch (const core::Error&) {  // on every rank
      if (counted) throw;
      found.all.reset();  // what is not counted does not stop the count
      return;
    }
    if (found.all) *found.all += masses.sum;
    if (!counted) return;
    found.least = std::min(found.least, masses.least);
    found.most = std::max(found.most, masses.most);
    found.sum += masses.sum;
  };
  for (const ParticleSet& set : snapshot.counted()) add(set, true);
  for (const ParticleSet& set : snapshot.others()) add(set, false);
  if (!snapshot.mass_unit()) found.all.reset();
  if (found.all) *found.all *= *snapshot.mass_unit();
  return found;
}

void ensure_weighted(const GadgetSnapshot& snapshot, const SnapshotMasses& masses, ParticleWeights weights) {
  const std::string& path = snapshot.counted().front().path.string();
  ensure(weights != ParticleWeights::mass || masses.known, Fault::config,
         "{} does not state the masses of its particles, which --weights mass needs: leave that out.", path);
  ensure(
      weights != ParticleWeights::unstated || !masses.differ(), Fault::config,
      "{} has particles of {:.6g} to {:.6g} units of mass: give --weights mass to count mass, or --weights equal to "
      "count particles.",
      path, masses.least, masses.most);
  std::size_t types = 0;
  for (const ParticleSet& set : snapshot.counted()) types |= std::size_t{1} << set.type;
  ensure(
      weights != ParticleWeights::unstated || masses.known || (types & (types - 1)) == 0, Fault::config,
      "{} does not state the masses of particles of several types: give --weights equal to count each as one.",
      path);
}

std::optional<double> density_of(const GadgetSnapshot& snapshot, const SnapshotMasses& masses) {
  constexpr double kCritical = 27.7536627;  // 3 H² / 8 π G [1e10 Msun/h / (Mpc/h)³]
  if (!masses.all) return std::nullopt;
  return *masses.all / (kCritical * std::pow(snapshot.box_size() / snapshot.units_per_mpc_h(), 3));
}

std::optional<std::string> closure_remark(double density, const core::Cosmology& cosmology) {
  constexpr double kTolerance = 0.01;
  const double ratio = density / cosmology.omega_m;
  if (std::abs(ratio - 1) <= kTolerance) return std::nullopt;
  return fmt::format(
      "all its particles together are {:.4g} times the matter of its box at omega_m = {:.4g}: {}", ratio,
      cosmology.omega_m, cause_of(ratio, cosmology));
}

std::string types_not_counted(const GadgetSnapshot& snapshot) {
  std::map<std::size_t, std::uint64_t> others;
  for (const ParticleSet& set : snapshot.others()) others[set.type] += set.particles;
  std::vector<std::string> texts;
  for (const auto& [type, particles] : others) texts.push_back(fmt::format("{} of type {}", particles, type));
  return fmt::format("{}", fmt::join(texts, " and "));
}

MassUnit mass_unit_of(const core::Communicator& comm, const GadgetSnapshot& snapshot,
                      const SnapshotMasses& masses) {
  constexpr double kRounding = 1e-5;
  const double mean = masses.sum / static_cast<double>(snapshot.particles());
  bool multiples = masses.most <= 1000 * masses.least;
  std::uint64_t counts = 0;
  comm.agree([&] {
    for (const ParticleSet& set : snapshot.counted()) {
      for_each_part(comm, snapshot, set, [&](std::span<const double> part, std::uint64_t) {
        for (const double mass : part) {
          const double times = mass / masses.least, whole = std::round(times);
          multiples = multiples && std::abs(times / whole - 1) < kRounding;
          counts += static_cast<std::uint64_t>(std::min(whole, 1e6));
        }
      });
    }
  });
  const bool exact = comm.min(multiples ? 1 : 0) == 1;
  counts = comm.sum(counts);
  if (exact) return {masses.least, counts};
  return {mean, snapshot.particles()};
}

}  // namespace cosmo::histogram
