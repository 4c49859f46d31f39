#include "train/optimizer/optimizer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/run/options.hpp"
#include "train/optimizer/sgd.hpp"

namespace cosmo::train {

namespace {

std::unique_ptr<Optimizer> make_larc_adam(const OptimizerSetting& setting,
                                          std::span<const nn::Parameter> parameters,
                                          const LearningRate& rate) {
  LarcAdamConfig config;
  config.larc = setting.larc.value;
  config.learning_rate = rate;
  return std::make_unique<LarcAdam>(parameters, config);
}

std::unique_ptr<Optimizer> make_adamw(const OptimizerSetting& setting,
                                      std::span<const nn::Parameter> parameters, const LearningRate& rate) {
  LarcAdamConfig config;
  config.larc = LarcMode::off;
  config.weight_decay = setting.weight_decay;
  config.learning_rate = rate;
  return std::make_unique<LarcAdam>(parameters, config);
}

std::unique_ptr<Optimizer> make_sgd(const OptimizerSetting& setting,
                                    std::span<const nn::Parameter> parameters, const LearningRate& rate) {
  return std::make_unique<Sgd>(parameters, SgdConfig{setting.momentum, rate});
}

double number_in(std::string_view text, std::string_view optimizer) {
  return core::parse_number(text, "--optimizer", fmt::format("{}:{}", optimizer, text));
}

OptimizerSetting parse_adamw(std::string_view text) {
  const OptimizerSetting setting{.weight_decay = number_in(text, "adamw")};
  validate(LarcAdamConfig{.weight_decay = setting.weight_decay, .learning_rate = {}});
  return setting;
}

OptimizerSetting parse_larc_adam(std::string_view text) {
  return {.larc = core::row_called(kLarcModes, text, "--optimizer larc-adam")};
}

OptimizerSetting parse_sgd(std::string_view text) {
  const OptimizerSetting setting{.momentum = number_in(text, "sgd")};
  validate(SgdConfig{setting.momentum, {}});
  return setting;
}

/// The moments of Adam, with `more`.
core::Json logged_adam(core::Json more) {
  const LarcAdamConfig config{.learning_rate = {}};
  more.update({{"opt_adam_beta_1", config.beta1},
               {"opt_adam_beta_2", config.beta2},
               {"opt_adam_epsilon", config.epsilon}});
  return more;
}

/// Rates: Mathuriya et al. 2018, III-B; MLPerf HPC's CosmoFlow, configs/cosmo.yaml (0.001 for a batch of 64,
/// in proportion for others).
constexpr std::array<OptimizerEntry, 3> kOptimizers = {{
    {"adamw",
     "Adam with decoupled weight decay; VALUE: share of the weights, times the learning rate, that each step removes, 1e-4 unless given",
     "weight-decay", "1e-4", &parse_adamw,
     [](const OptimizerSetting& setting) { return core::Json(setting.weight_decay); },
     [](const OptimizerSetting& setting) {
       return logged_adam({{"opt_weight_decay", setting.weight_decay}});
     },
     [](int) { return 3e-3; }, [](double rate) { return std::min(1e-5, rate); }, 2, &make_adamw},
    {"larc-adam",
     "Adam with layer-wise rates, the 2018 paper's; VALUE: what these scale, paper: the gradient before Adam, trust-ratio: Adam's update, or off",
     "larc", "paper", &parse_larc_adam,
     [](const OptimizerSetting& setting) { return core::Json(setting.larc.name); },
     [](const OptimizerSetting& setting) {
       return logged_adam({{"opt_weight_decay", 0}, {"opt_larc", setting.larc.name}});
     },
     [](int) { return 2e-3; }, [](double rate) { return std::min(1e-4, rate); }, 2, &make_larc_adam},
    {"sgd", "with momentum; VALUE: share of the last update that is kept, 0.9 unless given", "momentum",
     "0.9", &parse_sgd, [](const OptimizerSetting& setting) { return core::Json(setting.momentum); },
     [](const OptimizerSetting& setting) {
       return core::Json{{"opt_weight_decay", 0}, {"opt_momentum", setting.momentum}};
     },
     [](int batch) { return 1e-3 * batch / 64; }, [](double rate) { return rate; }, 1, &make_sgd},
}};

}  // namespace

std::span<const OptimizerEntry> optimizers() { return kOptimizers; }

}  // namespace cosmo::train
