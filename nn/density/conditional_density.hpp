#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/hdf5/hdf5.hpp"
#include "nn/density/columns.hpp"
#include "nn/density/coordinates.hpp"
#include "nn/density/factor_network.hpp"
#include "nn/density/posterior.hpp"

namespace cosmo::nn {

/// A density q(θ | s) of P parameters in [-1, 1] (label coordinates: the prior's range), given F predictions s.
///
/// It is the average of several fits q_m(θ | s) = Π_i q_m(θ_i | θ_1 ... θ_i-1, s), the members. Each factor is
/// a mixture of normals cut off at ±1 (CutMixture). A FactorNetwork makes its numbers from Coordinates. One number
/// widens each factor.
class ConditionalDensity {
 public:
  /// The networks of a member, one for each parameter.
  using Member = std::vector<FactorNetwork>;

  /// The members' networks must have the shapes that the coordinates ask for; widening (P).
  ConditionalDensity(Coordinates coordinates, std::vector<Member> members, std::vector<double> widening);

  std::size_t features() const { return coordinates_.features(); }
  std::size_t parameters() const { return coordinates_.parameters(); }
  const Coordinates& coordinates() const { return coordinates_; }
  std::size_t members() const { return members_.size(); }
  const Member& member(std::size_t m) const { return members_[m]; }
  /// Number of components of a parameter's factor.
  int components(std::size_t parameter) const;
  std::span<const double> widening() const { return widening_; }
  void set_widening(std::vector<double> widening) { widening_ = std::move(widening); }

  /// The natural logarithm of q(θ | s) for each row: s (rows, F), theta (rows, P). -infinity outside [-1, 1]. Throws
  /// Error{numeric} if a number is not finite.
  std::vector<double> log_density(std::span<const double> s, std::span<const double> theta) const;
  /// The density for one s (F). Throws Error{numeric} if a number is not finite.
  Posterior at(std::span<const double> s) const;

  /// Writes the density to a new group of a file.
  void write(core::hdf5::File& file, const std::string& group) const;
  /// Throws Error{format}, with the name of the file, if the group does not hold a density of this number of
  /// parameters and predictions.
  static ConditionalDensity read(const core::hdf5::File& file, const std::string& path,
                                 const std::string& group, std::size_t features, std::size_t parameters);

 private:
  friend class EvaluatedPairs;

  Coordinates coordinates_;
  std::vector<Member> members_;
  std::vector<double> widening_;
};

/// What the networks of a density say of pairs, from which log q follows for any widening.
class EvaluatedPairs {
 public:
  EvaluatedPairs(const ConditionalDensity& density, std::span<const double> s, std::span<const double> theta);

  std::size_t rows() const { return rows_; }
  std::size_t parameters() const { return parameters_; }
  /// As ConditionalDensity::log_density.
  std::vector<double> log_density(std::span<const double> widening) const;
  /// The logarithms of one factor, each the average of the members'.
  std::vector<double> log_density_of(std::size_t parameter, double widening) const;

 private:
  double log_density_at(std::size_t row, std::size_t member, std::size_t parameter, double widening) const;

  std::size_t rows_, parameters_, members_;
  std::vector<double> theta_;     ///< (rows, parameters)
  std::vector<double> centres_;   ///< (rows, parameters): the centres of the factors' units
  std::vector<double> scales_;    ///< (parameters)
  std::vector<Columns> outputs_;  ///< (members, parameters): outputs for all rows
};

}  // namespace cosmo::nn
