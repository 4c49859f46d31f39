#include "nn/density/fit/fit_density.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "nn/density/cut_mixture.hpp"
#include "nn/density/fit/widening.hpp"

namespace cosmo::nn {

namespace {

/// One fold: the samples of each factor (P), in the coordinates of the rows that are fitted to.
struct Fold {
  Coordinates coordinates;
  std::vector<FactorSamples> fitted, held_out;
  std::vector<LinearFactor> linear;
  DensityPairs widening;  ///< the held-out pairs that the widening is fitted to
};

std::vector<LinearFactor> fit_linear_factors(const std::vector<FactorSamples>& samples) {
  std::vector<LinearFactor> fitted;
  for (const FactorSamples& factor : samples) fitted.push_back(fit_linear_factor(factor));
  return fitted;
}

void ensure_sound(const DensityPairs& pairs, const char* which) {
  core::ensure(pairs.s.size() == pairs.rows() * pairs.features &&
                   pairs.theta.size() == pairs.rows() * pairs.parameters && pairs.parameters > 0,
               core::Fault::internal, "The {} pairs of a density have the wrong sizes.", which);
  for (std::size_t row = 0; row < pairs.rows(); ++row) {
    const auto finite = [](double value) { return std::isfinite(value); };
    core::ensure(std::ranges::all_of(pairs.s_of(row), finite), core::Fault::numeric,
                 "The prediction for {} universe {} is not finite: no posterior can be fitted.", which,
                 pairs.universes[row]);
    core::ensure(
        std::ranges::all_of(pairs.theta_of(row), [](double value) { return std::abs(value) <= 1; }),
        core::Fault::numeric,
        "A parameter of {} universe {} is not within the range of the training: no posterior can be fitted.",
        which, pairs.universes[row]);
  }
}

/// Universes are dealt out to folds at random, the same way every time. Rows from `first` on are
/// those that the widening is fitted to.
std::vector<Fold> folds_of(const DensityPairs& pairs, std::size_t first, int count) {
  std::map<std::uint32_t, std::size_t> fold;
  for (const std::uint32_t universe : pairs.universes) fold[universe] = 0;
  const auto order =
      core::shuffled({0, core::Purpose::cross_validation}, static_cast<std::uint32_t>(fold.size()));
  std::size_t place = 0;
  for (auto& [universe, number] : fold) number = order[place++] % static_cast<std::size_t>(count);
  std::vector<Fold> folds;
  for (std::size_t f = 0; f < static_cast<std::size_t>(count); ++f) {
    std::vector<std::size_t> in, out, widening;
    for (std::size_t row = 0; row < pairs.rows(); ++row) {
      const bool held_out = fold.at(pairs.universes[row]) == f;
      (held_out ? out : in).push_back(row);
      if (held_out && row >= first) widening.push_back(row);
    }
    const DensityPairs fitted = pairs.at(in);
    const Coordinates coordinates(fitted);
    std::vector<FactorSamples> samples = factor_samples(coordinates, fitted);
    std::vector<LinearFactor> linear = fit_linear_factors(samples);
    folds.push_back({coordinates, std::move(samples), factor_samples(coordinates, pairs.at(out)),
                     std::move(linear), pairs.at(widening)});
  }
  return folds;
}

/// The best number of rounds for a number of components.
FactorChoice try_components(const std::vector<Fold>& folds, std::size_t parameter, int components,
                            const DensitySettings& settings) {
  const core::RandomStream stream(settings.seed, core::Purpose::density_fit);
  std::vector<FactorTrainer> trainers;
  double rows = 0;
  for (std::size_t f = 0; f < folds.size(); ++f) {
    const auto index = static_cast<std::uint32_t>(f * folds[f].fitted.size() + parameter);
    trainers.emplace_back(folds[f].fitted[parameter], folds[f].linear[parameter], components,
                          settings.training, stream, index);
    rows += static_cast<double>(folds[f].held_out[parameter].size());
  }
  const auto held_out = [&] {
    double total = 0;
    for (std::size_t f = 0; f < folds.size(); ++f) {
      const FactorSamples& samples = folds[f].held_out[parameter];
      total -= mean_loss(trainers[f].average(), samples) * static_cast<double>(samples.size());
    }
    return total / rows;
  };
  const double start = held_out();
  FactorChoice best{components, 0, start, start};
  for (int round = 1; round <= settings.most_rounds && round <= best.rounds + settings.patience; ++round) {
    for (FactorTrainer& trainer : trainers) trainer.round();
    const double now = held_out();
    if (now > best.held_out) best = {components, round, now, start};
  }
  return best;
}

std::vector<FactorChoice> choose(const std::vector<Fold>& folds, std::size_t parameters,
                                 const DensitySettings& settings) {
  const int tries = settings.most_components * static_cast<int>(parameters);
  std::vector<FactorChoice> tried(static_cast<std::size_t>(tries));
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < tries; ++i) {  // the slowest first
    tried[static_cast<std::size_t>(i)] =
        try_components(folds, static_cast<std::size_t>(i) % parameters,
                       settings.most_components - i / static_cast<int>(parameters), settings);
  }
  std::vector<FactorChoice> chosen(tried.end() - static_cast<std::ptrdiff_t>(parameters), tried.end());
  for (std::size_t i = tried.size(); i-- > 0;) {  // from one component on
    FactorChoice& best = chosen[i % parameters];
    const double linear = best.linear;
    if (tried[i].held_out > best.held_out) best = tried[i];
    best.linear = linear;
  }
  return chosen;
}

std::vector<ConditionalDensity::Member> fit_members(const std::vector<FactorSamples>& samples,
                                                    const std::vector<LinearFactor>& linear,
                                                    const std::vector<FactorChoice>& choices, int count,
                                                    const DensitySettings& settings) {
  const core::RandomStream stream(settings.seed, core::Purpose::density_fit);
  const int factors = static_cast<int>(samples.size());
  std::vector<FactorNetwork> networks(samples.size() * static_cast<std::size_t>(count),
                                      FactorNetwork({0, 0, 0}));
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < count * factors; ++i) {
    const auto parameter = static_cast<std::size_t>(i % factors);
    FactorTrainer trainer(samples[parameter], linear[parameter], choices[parameter].components,
                          settings.training, stream,
                          static_cast<std::uint32_t>(settings.folds * factors + i));
    for (int round = 0; round < choices[parameter].rounds; ++round) trainer.round();
    networks[static_cast<std::size_t>(i)] = trainer.average();
  }
  std::vector<ConditionalDensity::Member> members;
  for (auto first = networks.begin(); first != networks.end(); first += factors)
    members.emplace_back(first, first + factors);
  return members;
}

/// Throws Error{numeric} naming a factor that is not finite.
void ensure_finite(const std::vector<ConditionalDensity::Member>& members) {
  for (const ConditionalDensity::Member& member : members) {
    for (std::size_t parameter = 0; parameter < member.size(); ++parameter) {
      core::ensure(std::ranges::all_of(member[parameter].weights(),
                                       [](double weight) { return std::isfinite(weight); }),
                   core::Fault::numeric, "The posterior of parameter {} has no finite fit.", parameter + 1);
    }
  }
}

/// Held-out pairs that the widening is fitted to, and a density fitted to the other folds.
struct HeldOut {
  ConditionalDensity density;
  const DensityPairs& pairs;
};

std::vector<HeldOut> fit_held_out(const std::vector<Fold>& folds, const std::vector<FactorChoice>& choices,
                                  const DensitySettings& settings) {
  const int members = std::min(2, settings.members);
  std::vector<HeldOut> parts;
  for (const Fold& fold : folds) {
    if (fold.widening.rows() == 0) continue;
    parts.push_back({{fold.coordinates, fit_members(fold.fitted, fold.linear, choices, members, settings),
                      std::vector(choices.size(), 1.0)},
                     fold.widening});
  }
  return parts;
}

/// The rms distance (P) of the densities' means from the truths.
std::vector<double> errors_of_means(const std::vector<HeldOut>& parts) {
  constexpr std::size_t kMostRows = 1024;  // a mean takes some 3 ms
  std::size_t rows = 0;
  for (const HeldOut& part : parts) rows += part.pairs.rows();
  const std::size_t step = (rows + kMostRows - 1) / kMostRows;
  std::vector<double> errors(parts.front().density.parameters());
  std::size_t judged = 0;
  for (const HeldOut& part : parts) {
    const std::size_t count = (part.pairs.rows() + step - 1) / step;
    std::vector<std::vector<double>> means(count);
#pragma omp parallel for schedule(dynamic, 1)
    for (std::size_t i = 0; i < count; ++i) {
      const Marginals marginals = part.density.at(part.pairs.s_of(i * step)).marginals();
      means[i].assign(marginals.mean().begin(), marginals.mean().end());
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto truth = part.pairs.theta_of(i * step);
      for (std::size_t p = 0; p < errors.size(); ++p) errors[p] += std::pow(means[i][p] - truth[p], 2);
    }
    judged += count;
  }
  for (double& error : errors) error = std::sqrt(error / static_cast<double>(judged));
  return errors;
}

}  // namespace

std::size_t least_universes(std::size_t features, std::size_t parameters) {
  return std::max<std::size_t>(20, 4 * (features + parameters));
}

DensityFit fit_density(const DensityPairs& training, const DensityPairs& validation,
                       const DensitySettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  ensure_sound(training, "training");
  ensure_sound(validation, "validation");
  core::ensure(validation.features == training.features && validation.parameters == training.parameters,
               core::Fault::internal, "Training and validation pairs of a density differ in their numbers.");
  core::ensure(settings.most_components >= 1 && settings.most_components <= kMostInFactor &&
                   settings.members >= 1 && settings.folds >= 2,
               core::Fault::internal, "The settings of a density's fit cannot be.");
  DensityPairs pairs = training;
  pairs.append(validation);
  const std::size_t universes = std::set(pairs.universes.begin(), pairs.universes.end()).size();
  const std::size_t least = least_universes(pairs.features, pairs.parameters);
  core::ensure(
      universes >= least, core::Fault::config,
      "A posterior of {} parameters given {} predictions needs at least {} universes to be fitted to, and there are {}.",
      pairs.parameters, pairs.features, least, universes);
  const Coordinates coordinates(pairs);
  const std::vector<Fold> folds =
      folds_of(pairs, validation.rows() > 0 ? training.rows() : 0, settings.folds);
  const std::vector<FactorChoice> choices = choose(folds, pairs.parameters, settings);
  const std::vector<FactorSamples> samples = factor_samples(coordinates, pairs);
  std::vector<HeldOut> parts = fit_held_out(folds, choices, settings);
  std::vector<EvaluatedPairs> held_out;
  for (const auto& [density, held] : parts) held_out.emplace_back(density, held.s, held.theta);
  const DensityPairs& judged = validation.rows() > 0 ? validation : training;
  std::vector<ConditionalDensity::Member> members =
      fit_members(samples, fit_linear_factors(samples), choices, settings.members, settings);
  ensure_finite(members);
  const std::vector<double> widening =
      fit_widening(held_out, std::set(judged.universes.begin(), judged.universes.end()).size());
  for (HeldOut& part : parts) part.density.set_widening(widening);
  return {{coordinates, std::move(members), widening},
          choices,
          mean_log_density(held_out, std::vector(pairs.parameters, 1.0)),
          mean_log_density(held_out, widening),
          errors_of_means(parts),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

}  // namespace cosmo::nn
