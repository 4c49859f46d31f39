#pragma once
// The optimizer of the 2018 paper: Adam with layer-wise adaptive rate control, in place on the network's
// arenas.

#include <array>

#include "core/buffer.hpp"
#include "core/named.hpp"
#include "train/optimizer/optimizer.hpp"

namespace cosmo::train {

/// The quantity that LARC's local rate η* = coefficient ‖v‖ / ‖·‖ of a parameter v scales.
enum class LarcMode {
  paper,  ///< as printed: the gradient × min(0.002 ‖v‖/‖g‖, 1), then Adam, which nearly cancels a constant
          ///< scale
  trust_ratio,  ///< Adam's update u, v -= min(0.002 ‖v‖/‖u‖, η_t) u: no step changes a parameter by more than
                ///< 0.2 %
  off,  ///< Adam alone
};

inline constexpr std::array<core::Named<LarcMode>, 3> kLarcModes = {
    {{"paper", LarcMode::paper}, {"trust-ratio", LarcMode::trust_ratio}, {"off", LarcMode::off}}};

/// Defaults: Mathuriya et al. 2018, section III-B.
struct LarcAdamConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;  ///< ε̂: added to the square root of the second moment before the bias correction
  LarcMode larc = LarcMode::paper;
  double larc_coefficient = 0.002;
  double larc_fallback = 6.25e-5;  ///< η* of a parameter if one of the norms is zero
  /// λ: weights (not biases) shrink by the share η_t λ per step. Loshchilov & Hutter 2019 (arXiv:1711.05101),
  /// algorithm 2, where the schedule multiplies both terms.
  double weight_decay = 0;
  LearningRate learning_rate;
};

/// Throws Error{config} on values outside their range.
void validate(const LarcAdamConfig& config);

/// Adam with LARC over parameters that lie in two arenas (values and gradients), like nn::Network's.
/// Sources: Mathuriya et al. 2018, section III-B; Kingma & Ba 2015 (arXiv:1412.6980), section 2's last
/// paragraph for ε̂.
class LarcAdam final : public Optimizer {
 public:
  /// The parameters' spans must outlive the optimizer. Moments start as zeros.
  /// Throws Error{config} on values outside their range.
  LarcAdam(std::span<const nn::Parameter> parameters, const LarcAdamConfig& config);

  void step(std::int64_t n) override;
  /// Adam's m and v.
  std::vector<Moment> moments() override {
    return {{"first_moment", first_moment_.span()}, {"second_moment", second_moment_.span()}};
  }

 private:
  /// Σ x² of a block's values and of its gradient (paper) or update (trust_ratio).
  struct SquareSums {
    double values = 0;
    double other = 0;
  };

  /// η* of every parameter: 0.002 ‖values‖ / ‖other‖ from block_sums_, summed in the blocks' order.
  std::vector<double> local_rates() const;

  LarcAdamConfig config_;
  std::size_t parameters_;
  std::vector<bool> decays_;  ///< by parameter: whether it consists of weights
  std::vector<Block> blocks_;
  std::vector<SquareSums> block_sums_;
  core::Buffer<float> first_moment_;
  core::Buffer<float> second_moment_;
};

}  // namespace cosmo::train
