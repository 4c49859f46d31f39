#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/run/options.hpp"
#include "core/universe/facts.hpp"
#include "sim/plan/box.hpp"
#include "sim/plan/choices.hpp"
#include "sim/plan/gravity.hpp"
#include "sim/plan/universes.hpp"

namespace cosmo::sim {

/// The settings of a suite's universes.
struct DrawnGravity {
  std::vector<Gravity> list = {Gravity{}};  ///< (universes), or one for all
  /// Settings that cannot be together, and how often they were drawn and drawn again.
  std::map<std::string, int> redrawn = {};

  const Gravity& of(std::size_t universe) const { return list.size() == 1 ? list[0] : list[universe]; }
};

/// How the particles of a suite move: each of these options has a value, or choices from which the design draws one for
/// each universe.
struct GravityChoices {
  using Descent = std::optional<GradientDescent>;  ///< nothing: as fitted

  Choices<int> mesh = 256;                                ///< --mesh
  std::optional<Choices<std::string>> force_kernel = {};  ///< --force-kernel; none: the best for the mesh
  Choices<std::string> integrator = std::string("cola");  ///< --integrator
  Choices<int> steps = 10;                                ///< --steps
  Choices<double> z_initial = 9.0;                        ///< --z-initial
  Choices<Descent> descent = Descent(GradientDescent{});  ///< --gradient-descent
  bool radiation = false;                                 ///< --radiation

  static void declare(core::Options& options);
  /// Throws Error{usage} or Error{config} naming the option.
  static GravityChoices read(const core::Options& options, const Box& box);
  /// Whether settings differ from universe to universe.
  bool vary() const;

  /// What fits of descent depend on besides these settings.
  struct Fitting {
    int lpt_order;
    const std::vector<double>& redshifts;
  };
  /// Whether some of the choices have a fit of descent, for boxes of this size [Mpc/h].
  bool can_be_fitted(double box_size, const Box& box, const Fitting& fitting) const;
  /// The settings of each universe: a pure function of the design, its seed and the universe's number. Draws that cannot
  /// be, or are those of a twin, are made again. Throws Error{config} naming the options if none can be.
  DrawnGravity draw(const Universes& universes, const Box& box, const Fitting& fitting) const;

  /// Warns of a mesh that beats with the particles' lattice, and of descent where its fit has not been tested
  /// (docs/method/cola.md).
  void warn(const core::Log& log, const Box& box, const Universes& universes, const DrawnGravity& drawn,
            bool gaussian) const;
  void identify(core::Json& config, const DrawnGravity& drawn) const;
  /// Adds what is true of all universes.
  void state(core::Facts& facts, const Box& box, const DrawnGravity& drawn) const;
  /// The facts on a universe that are not true of all.
  core::Facts varying(const Gravity& gravity, const Box& box) const;
  /// "force mesh 256³, 10 steps from z = 9"
  std::string describe() const;
};

}  // namespace cosmo::sim
