#pragma once

#include <optional>
#include <span>

namespace cosmo::train {

/// Divides an arena of gradients into stretches of at least 1 MB, from its end to its beginning, as backward
/// delivers parts of it. Equal arenas are divided equally, so that ranks need not negotiate.
class GradientBuckets {
 public:
  /// The arena must outlive this.
  explicit GradientBuckets(std::span<float> arena);

  /// Returns the bucket that `part` completes, if any. Parts must come in order from the end of the arena;
  /// gaps between them are padding. Throws Error{internal} otherwise.
  std::optional<std::span<float>> add(std::span<float> part);
  /// Starts at the end again. Throws Error{internal} if parts are missing.
  void restart();

 private:
  std::span<float> arena_;
  float* begin_;  ///< start of the bucket that is being filled from its end
  float* end_;    ///< end of that bucket
};

}  // namespace cosmo::train
