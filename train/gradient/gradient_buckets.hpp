#pragma once

#include <optional>
#include <span>

namespace cosmo::train {

/// Cuts an arena of gradients into stretches of at least 1 MB, from its end to its beginning, as backward
/// delivers parts of it. Equal arenas are cut equally: nothing is negotiated between ranks.
class GradientBuckets {
 public:
  /// The arena must outlive this.
  explicit GradientBuckets(std::span<float> arena);

  /// The bucket that `part` completes, if any. Parts come from the end of the arena on; what lies between
  /// them is padding. Throws Error{internal} otherwise.
  std::optional<std::span<float>> add(std::span<float> part);
  /// Begins at the end again. Throws Error{internal} if parts are missing.
  void restart();

 private:
  std::span<float> arena_;
  float* begin_;  ///< of the bucket that is being filled from its end
  float* end_;
};

}  // namespace cosmo::train
