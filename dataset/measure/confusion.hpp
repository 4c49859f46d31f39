#pragma once
// How predicted classes agree with the true ones.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/universe/cosmic_web.hpp"

namespace cosmo::dataset {

/// Voxels by their true and their predicted class. Ratios that are 0 / 0 are 0: of a class that is neither true nor predicted
/// anywhere, and correlations with what does not vary.
struct Confusion {
  static constexpr std::size_t kClasses = core::kWebClasses.size();
  std::array<std::array<std::uint64_t, kClasses>, kClasses> voxels = {};  ///< [true][predicted]

  /// Adds voxels, whose classes are below kClasses; both have the same size.
  void add(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted);
  void add(const Confusion& others);

  std::uint64_t sum() const;
  std::uint64_t of_truth(std::size_t c) const;      ///< voxels that are of the class
  std::uint64_t of_predicted(std::size_t c) const;  ///< voxels that are predicted to be
  /// Intersection over union of the true and the predicted voxels of a class.
  double iou(std::size_t c) const;
  /// The harmonic mean of a class's precision and recall.
  double f1(std::size_t c) const;
  double macro_f1() const;  ///< mean over the classes
  /// Matthews' correlation coefficient of all classes (Gorodkin 2004, Comput. Biol. Chem. 28, 367).
  double mcc() const;
  /// That of a class against the rest (Matthews 1975).
  double mcc(std::size_t c) const;
};

}  // namespace cosmo::dataset
