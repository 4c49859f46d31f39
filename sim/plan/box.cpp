#include "sim/plan/box.hpp"

#include <algorithm>
#include <cstdint>

#include "core/error.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

namespace {

constexpr double kSmallestBox = 1, kLargestBox = 1e5;  ///< sides of boxes [Mpc/h]

}  // namespace

void Box::declare(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("box LENGTH", "512", "side of the periodic box, Mpc/h; 731.43Mpc: in Mpc, independent of h");
  options.add("particles N", "256", "particles per side");
}

Box Box::read(const core::Options& options, const Universes& universes) {
  Box box;
  box.side = core::parse_length(options.text("box"), "--box");
  for (const core::Universe& universe : universes.list) {
    const double unit = core::Length(1, box.side.unit).mpc_h(universe.cosmology.h);
    ensure(box.side.value * unit >= kSmallestBox && box.side.value * unit <= kLargestBox, Fault::config,
           "--box is {} {}: choose a value between {:.6g} and {:.6g}.", box.side.value,
           name_of(box.side.unit), kSmallestBox / unit, kLargestBox / unit);
  }
  box.particles_per_side = static_cast<int>(options.integer("particles", 4, 8192));
  return box;
}

void Box::check(double h, int ranks) const {
  const double size = side.mpc_h(h);
  ensure(size >= kSmallestBox && size <= kLargestBox, Fault::config,
         "--box is {} Mpc/h: choose a value between {:.6g} and {:.6g}.", size, kSmallestBox, kLargestBox);
  check_grid("--particles", particles_per_side, ranks);
  const auto n = static_cast<std::uint64_t>(particles_per_side);
  ensure(n * n * n / static_cast<std::uint64_t>(ranks) < (std::uint64_t{1} << 31), Fault::config,
         "--particles {} puts more than 2^31 particles on a rank: use more ranks.", particles_per_side);
}

void Box::identify(core::Json& config) const {
  core::write_length(config, "box", side);
  config["particles_per_side"] = particles_per_side;
}

void Box::state(core::Facts& facts) const {
  core::set_length(facts, "box", side);
  core::set_length(facts, "particle_spacing", side / particles_per_side);
}

std::string Box::describe() const {
  return fmt::format("{}³ particles in {} {}", particles_per_side, side.value, name_of(side.unit));
}

void check_grid(const char* option, int cells_per_side, int ranks) {
  const int least = std::max(4, ranks);
  ensure(cells_per_side >= least && cells_per_side <= 8192, Fault::config,
         "{} is {} per side: choose a value between {} and 8192 (at least the number of ranks, and 4).",
         option, cells_per_side, least);
}

}  // namespace cosmo::sim
