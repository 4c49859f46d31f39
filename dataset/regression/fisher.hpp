#pragma once
// The information on the parameters in a power spectrum: the measured half of a forecast.

#include <Eigen/Core>
#include <cstddef>
#include <optional>

#include "dataset/regression/sample_statistics.hpp"

namespace cosmo::dataset {

/// The Fisher matrix (P, P) in label units at the centre of the ranges, of statistics (rows, B) of universes
/// with labels (rows, P): derivatives from a quadratic regression of the statistics on the labels, covariance
/// from the scatter around it with Hartlap's factor; the noise that the derivatives add is subtracted. Needs
/// fisher_rows(P, B) rows. Source: Tegmark, Taylor and Heavens 1997, eq. 15 (its second term); Hartlap et al.
/// 2007, eq. 17.
Eigen::MatrixXd fisher_matrix(const Eigen::MatrixXd& statistics, const Eigen::MatrixXd& labels);
/// Rows that the Fisher matrix of B statistics needs for eight residual degrees of freedom per statistic.
std::size_t fisher_rows(std::size_t parameters, std::size_t statistics);
/// Universes that the Fisher matrix of a power spectrum needs for P parameters.
std::size_t fewest_universes(std::size_t parameters);

/// The Fisher matrix of log P(k) for P parameters.
struct PowerInformation {
  Eigen::MatrixXd fisher;  ///< (P, P), label units
  double k_max;            ///< [1 / unit]
  core::LengthUnit unit;
  std::size_t universes;  ///< training universes that it rests on
  std::size_t bins;       ///< bins of k, over all channels
};

/// That of whole universes (the mean over their sub-volumes) and of single sub-volumes. Nothing if there are
/// too few universes, or too few different ones for a quadratic regression.
struct PowerInformations {
  std::optional<PowerInformation> universes, subvolumes;
};

/// Measures both on training samples; rolls are left out.
PowerInformations measure_information(const StatisticsTable& training, const core::ParameterSpace& space);

}  // namespace cosmo::dataset
