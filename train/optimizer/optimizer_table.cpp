#include "train/optimizer/optimizer_table.hpp"

#include <algorithm>
#include <array>

#include "train/optimizer/sgd.hpp"

namespace cosmo::train {

namespace {

std::unique_ptr<Optimizer> make_larc_adam(const OptimizerSettings& settings,
                                          std::span<const nn::Parameter> parameters,
                                          const LearningRate& rate) {
  LarcAdamConfig config;
  config.larc = settings.larc.value;
  config.learning_rate = rate;
  return std::make_unique<LarcAdam>(parameters, config);
}

std::unique_ptr<Optimizer> make_adamw(const OptimizerSettings& settings,
                                      std::span<const nn::Parameter> parameters, const LearningRate& rate) {
  LarcAdamConfig config;
  config.larc = LarcMode::off;
  config.weight_decay = settings.weight_decay;
  config.learning_rate = rate;
  return std::make_unique<LarcAdam>(parameters, config);
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerSettings& settings,
                                    std::span<const nn::Parameter> parameters, const LearningRate& rate) {
  return std::make_unique<Sgd>(parameters, SgdConfig{settings.momentum, rate});
}

/// Rates: Mathuriya et al. 2018, III-B; MLPerf HPC's CosmoFlow, configs/cosmo.yaml (0.001 for a batch of 64,
/// in proportion for others).
constexpr std::array<OptimizerEntry, 3> kOptimizers = {{
    {"adamw", "Adam with decoupled weight decay", "weight-decay",
     [](const OptimizerSettings& settings) { return core::Json(settings.weight_decay); },
     [](int) { return 3e-3; }, [](double rate) { return std::min(1e-5, rate); }, 2, &make_adamw},
    {"larc-adam", "Adam with layer-wise rates, the 2018 paper's", "larc",
     [](const OptimizerSettings& settings) { return core::Json(settings.larc.name); },
     [](int) { return 2e-3; }, [](double rate) { return std::min(1e-4, rate); }, 2, &make_larc_adam},
    {"sgd", "with momentum", "momentum",
     [](const OptimizerSettings& settings) { return core::Json(settings.momentum); },
     [](int batch) { return 1e-3 * batch / 64; }, [](double rate) { return rate; }, 1, &make_sgd},
}};

}  // namespace

std::span<const OptimizerEntry> optimizers() { return kOptimizers; }

}  // namespace cosmo::train
