#include "sim/plan/start.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/error.hpp"
#include "sim/linear/local_non_gaussianity.hpp"
#include "sim/linear/spectrum_check.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

namespace {

/// Throws Error{config} if a parameter varies that a table of the spectrum fixes.
void ensure_fixed(const Universes& universes, const SpectrumTable& table) {
  for (const std::string& name : universes.varying.names) {
    const bool shape = name == "omega_m" || name == "h" || name == "omega_b" ||
                       (name == "n_s" && table.kind == SpectrumTable::Kind::power);
    ensure(!shape, Fault::config,
           "--{} varies and --transfer {} is the spectrum of one {}: fix it, or use {}.", option_of(name),
           table.path, name, kTransferFunctions.front().name);
  }
}

/// The file of --white-noise, which has the phases of the only universe.
std::optional<NoiseFile> read_white_noise(const core::Options& options, const Universes& universes,
                                          const Box& box) {
  if (!options.given("white-noise")) return std::nullopt;
  const std::string& path = options.text("white-noise");
  ensure(universes.size() == 1, Fault::config,
         "--white-noise {} has the phases of one universe and {} are to be made: make them one by one, "
         "each from its own file.",
         path, universes.size());
  ensure(universes.seed && !options.chosen("seed"), Fault::config,
         "--white-noise {} states the phases and so does {}: leave one out.", path,
         universes.seed ? "--seed" : "the design's column seed");
  return open_noise(path, box.particles_per_side);
}

/// The name of the transfer function, or the kind and SHA-256 of its table, whose path does not matter.
core::Json transfer_record(const Start& start) {
  if (!start.table) return start.transfer;
  const bool power = start.table->kind == SpectrumTable::Kind::power;
  core::Json record = {{"table", power ? "power" : "transfer"}, {"sha256", start.table->sha256}};
  if (start.stated_h && *start.stated_h != 1) record["h_of_units"] = *start.stated_h;
  return record;
}

}  // namespace

void Start::declare(core::Options& options) {
  options.begin_group("Initial conditions");
  TransferChoice::declare(options, std::string(kTransferFunctions.front().name));
  options.add_flag("fixed-amplitude",
                   "give every initial mode its expected amplitude, only phases are random");
  options.add_flag("paired", "flip the sign of the initial field: the partner of the same run without it");
  options.add("f-nl X", "0",
              "local non-Gaussianity of the potential in the matter era, the CMB's convention");
  options.add("white-noise FILE", std::nullopt,
              "FILE of unit white noise, grafic (MUSIC, monofonIC) or .npy, of --particles values per side, "
              "instead of a seed's [none]");
  options.begin_group(core::kForExperts);
  options.add("lpt-order N", "2",
              "order of the Lagrangian perturbation theory of the start: 2, or 3, which takes more memory");
}

Start Start::read(const core::Options& options, const Universes& universes, const Box& box) {
  Start start{TransferChoice::read(options, universes.base.h)};
  if (start.table) ensure_fixed(universes, *start.table);
  start.noise = read_white_noise(options, universes, box);
  start.lpt_order = static_cast<int>(options.integer("lpt-order", 2, 3));
  start.f_nl = options.number("f-nl");
  start.amplitude = options.flag("fixed-amplitude") ? Amplitude::fixed : Amplitude::random;
  start.partner = options.flag("paired") ? Partner::flipped : Partner::none;
  return start;
}

void Start::check(const core::Cosmology& cosmology, const Box& box) const {
  constexpr double kMostNonGaussian = 1e4;  // f_NL φ is some 0.1 there
  ensure(std::abs(f_nl) <= kMostNonGaussian, Fault::config,
         "--f-nl is {}: choose a value between -{} and {}.", f_nl, kMostNonGaussian, kMostNonGaussian);
  check_shape(cosmology.n_s, box.lattice(cosmology.h));
  if (!table) return;
  constexpr double kLargeScales = 5e-4;  // [h/Mpc]: T is 1 to 0.3 % there
  ensure(
      f_nl == 0 || table->first_k <= kLargeScales, Fault::config,
      "--transfer {} begins at k = {:.6g} h/Mpc and --f-nl needs it from {}, where T = 1: extend the table.",
      table->path, table->first_k, kLargeScales);
}

void Start::explain(const core::Log& log, const Universes& universes) const {
  if (!table) return;
  constexpr double kRemarkable = 1e-3;
  const bool power = table->kind == SpectrumTable::Kind::power;
  const core::ParameterSpace& varying = universes.varying;
  const auto p = static_cast<std::size_t>(std::ranges::find(varying.names, "sigma8") - varying.names.begin());
  const std::string target = p == varying.size() ? fmt::format("{}", universes.base.sigma8)
                                                 : fmt::format("{} to {}", varying.low[p], varying.high[p]);
  log.info("--transfer {}: {}, {} rows, {:.6g} <= k <= {:.6g} h/Mpc, {} to sigma_8 = {}", table->path,
           table->column, table->rows, table->first_k, table->last_k,
           power ? fmt::format("rescaled from its sigma_8 = {:.5f}", sigma8_of(*table))
                 : "which has no sigma_8 of its own, scaled",
           target);
  const bool varies = p < varying.size();
  for (const std::string& doubt :
       doubts_about(*table, universes.base, varies ? varying.low[p] : universes.base.sigma8,
                    varies ? varying.high[p] : universes.base.sigma8))
    log.warn("--transfer {}: {}.", table->path, doubt);
  const double share = extrapolated_share(*table, universes.base.n_s);
  if (share > kRemarkable) {
    log.warn(
        "{:.2f} % of sigma_8 squared lies beyond the ends of --transfer {}, where power laws continue it.",
        100 * share, table->path);
  }
}

void Start::identify(core::Json& config) const {
  config["transfer"] = transfer_record(*this);
  config["fixed_amplitude"] = amplitude == Amplitude::fixed;
  config["paired"] = partner == Partner::flipped;
  // Requests without them have the ids of earlier versions.
  if (lpt_order != 2) config["lpt_order"] = lpt_order;
  if (f_nl != 0) config["f_nl"] = f_nl;
  if (noise) config["white_noise"] = {{"sha256", noise->sha256}};
}

void Start::state(core::Facts& facts) const {
  facts.insert_or_assign("transfer", fact_of(*this));
  facts.insert_or_assign("fixed_amplitude", amplitude == Amplitude::fixed ? "on" : "off");
  facts.insert_or_assign("f_nl", f_nl);
  facts.insert_or_assign("lpt_order", lpt_order);
}

std::function<double(double)> Start::primordial_alpha(const core::Cosmology& cosmology,
                                                      const Background& background) const {
  constexpr double kLargeScales = 1e-5;  // [h/Mpc], where formulas have T = 1
  return density_per_potential(transfer_of(cosmology), table ? table->first_k : kLargeScales,
                               cosmology.omega_m, background.growth());
}

}  // namespace cosmo::sim
