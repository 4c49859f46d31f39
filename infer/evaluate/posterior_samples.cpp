#include "infer/evaluate/posterior_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/hdf5/hdf5.hpp"
#include "core/median.hpp"
#include "core/random.hpp"
#include "dataset/shard/target_scaler.hpp"

namespace cosmo::infer {

namespace {

constexpr std::uint64_t kSeed = 1;         ///< seed for all draws
constexpr std::uint64_t kCharacters = 20;  ///< most that a number in a chain takes

/// Draws of labels (draws, P): those of the posterior, or of the parts of an average of posteriors, each chosen by its weight.
std::vector<double> draw_labels(const LabelDensity& density, std::uint32_t universe, std::size_t draws) {
  std::vector<nn::Posterior> parts;
  for (const DensityPart& part : density) {
    const auto& given = std::get<GivenPredictions>(part.content);
    parts.push_back(given.density->at(given.s));
  }
  if (parts.size() == 1) return parts.front().samples(kSeed, universe, draws);
  const core::RandomStream choices(kSeed, core::Purpose::posterior_draw);
  std::vector<double> labels;
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    double rest = choices.uniform({universe, draw, 0});
    std::size_t part = 0;
    while (part + 1 < parts.size() && rest >= density[part].weight) rest -= density[part++].weight;
    const std::vector<double> one = parts[part].samples(kSeed, universe, 1, draw);
    labels.insert(labels.end(), one.begin(), one.end());
  }
  return labels;
}

std::vector<double> physical_of(const core::ParameterSpace& space, std::span<const double> labels) {
  const dataset::TargetScaler scaler(space);
  std::vector<double> physical(labels.size());
  for (std::size_t first = 0; first < labels.size(); first += space.size())
    scaler.to_physical(labels.subspan(first, space.size()), std::span(physical).subspan(first, space.size()));
  return physical;
}

/// Draws of one universe (draws, P), and the log of the density at each, both in physical units.
struct Draws {
  std::vector<double> values, log_densities;
};

Draws draws_of(const SampledUniverse& universe, const core::ParameterSpace& space, std::size_t count) {
  const std::vector<double> labels = draw_labels(*universe.density, universe.number, count);
  double units = 0;  // log of the volume of the ranges over that in label units
  for (std::size_t p = 0; p < space.size(); ++p) units += std::log((space.high[p] - space.low[p]) / 2);
  Draws draws{physical_of(space, labels), log_densities(*universe.density, labels, space.size())};
  for (double& density : draws.log_densities) density -= units;
  return draws;
}

Draws read_draws(const std::filesystem::path& path, std::size_t universe, std::size_t count,
                 std::size_t parameters) {
  const core::hdf5::File file = core::hdf5::File::open(path);
  Draws draws{std::vector<double>(count * parameters), std::vector<double>(count)};
  file.dataset("samples").read({universe, 0, 0}, {1, count, parameters}, std::span(draws.values));
  file.dataset("log_density").read({universe, 0}, {1, count}, std::span(draws.log_densities));
  return draws;
}

/// A line per draw: weight 1, -log of the density, parameters.
std::string chain_text(const Draws& draws, std::size_t parameters, std::size_t first, std::size_t last) {
  std::string text;
  for (std::size_t draw = first; draw < last; ++draw) {
    fmt::format_to(std::back_inserter(text), "1 {:.8g}", -draws.log_densities[draw]);
    for (std::size_t p = 0; p < parameters; ++p)
      fmt::format_to(std::back_inserter(text), " {:.10g}", draws.values[draw * parameters + p]);
    text += '\n';
  }
  return text;
}

std::string chain_text(const Draws& draws, std::size_t parameters) {
  constexpr std::size_t kTogether = 8192;
  const std::size_t count = draws.log_densities.size();
  std::vector<std::string> parts((count + kTogether - 1) / kTogether);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t part = 0; part < parts.size(); ++part)
    parts[part] = chain_text(draws, parameters, part * kTogether, std::min(count, (part + 1) * kTogether));
  return fmt::format("{}", fmt::join(parts, ""));
}

std::string chain_name(std::uint32_t number) { return fmt::format("chains/universe_{:05}", number); }

}  // namespace

void declare_samples(core::Options& options) {
  options.add(
      "samples N", std::nullopt,
      "draws from the posterior of each universe, written to samples.h5 and, for GetDist, to chains/ [none]");
}

std::size_t read_samples(const core::Options& options, const std::vector<std::string>& directories,
                         Models models) {
  if (!options.given("samples")) return 0;
  constexpr std::int64_t kMost = 10'000'000;
  const auto draws = static_cast<std::size_t>(options.integer("samples", 1, kMost));
  for (std::size_t m = 0; m < models.size(); ++m)
    core::ensure(models[m].posterior || have_posteriors(models), core::Fault::config,
                 "{} has no posterior for --samples to draw from: {}, or leave the option out.",
                 directories[m],
                 nn::takes_posterior(models[m].output)
                     ? "fit one with cosmo-train --posterior-only, to 20 universes or more"
                     : fmt::format("a training with --loss mse has one, that with --loss {} has not",
                                   models[m].output.option()));
  return draws;
}

std::uint64_t samples_bytes(std::size_t universes, std::size_t draws, std::size_t parameters) {
  constexpr std::uint64_t kOfUniverse = 1000;  // names, ranges and records of its files
  const std::uint64_t numbers = std::uint64_t{universes} * draws * parameters;
  return numbers * (sizeof(double) + kCharacters) +
         universes * (kOfUniverse + draws * (sizeof(double) + kCharacters + 2));
}

std::uint64_t samples_memory(std::size_t draws, std::size_t parameters) {
  return draws * ((3 * parameters) * (sizeof(double) + kCharacters) + kCharacters);
}

std::vector<double> draw_physical(const SampledUniverse& universe, const core::ParameterSpace& space,
                                  std::size_t draws) {
  return physical_of(space, draw_labels(*universe.density, universe.number, draws));
}

std::size_t typical_row(const dataset::PredictionTable& universes) {
  const std::size_t count = universes.parameters.size();
  std::vector<double> distance(universes.rows.size());
  for (std::size_t p = 0; p < count; ++p) {
    std::vector<double> deviations;
    for (const dataset::PredictionRow& row : universes.rows) deviations.push_back(row.deviation[p]);
    const double median = core::median(deviations);
    for (std::size_t row = 0; row < distance.size(); ++row)
      distance[row] += std::abs(deviations[row] / median - 1);
  }
  return static_cast<std::size_t>(std::ranges::min_element(distance) - distance.begin());
}

void publish_samples(core::OutputDirectory& output, const core::ParameterSpace& space,
                     std::span<const SampledUniverse> universes, std::size_t draws) {
  const std::size_t count = universes.size(), parameters = space.size();
  output.add("samples.h5", [&](const auto& path) {
    core::hdf5::File file = core::hdf5::File::create(path);
    std::vector<std::uint32_t> numbers;
    for (const SampledUniverse& universe : universes) numbers.push_back(universe.number);
    file.write("universes", {count}, std::span<const std::uint32_t>(numbers));
    file.set_attribute("parameter_names", space.names);
    {
      auto samples = file.create_dataset<double>("samples", {count, draws, parameters});
      auto densities = file.create_dataset<double>("log_density", {count, draws});
      for (std::size_t u = 0; u < count; ++u) {
        const Draws drawn = draws_of(universes[u], space, draws);
        samples.write({u, 0, 0}, {1, draws, parameters}, std::span<const double>(drawn.values));
        densities.write({u, 0}, {1, draws}, std::span<const double>(drawn.log_densities));
      }
    }
    file.close();
  });
  std::string names, ranges;
  for (std::size_t p = 0; p < parameters; ++p) {
    names += space.names[p] + '\n';
    ranges += fmt::format("{} {} {}\n", space.names[p], space.low[p], space.high[p]);
  }
  for (std::size_t u = 0; u < count; ++u) {
    const SampledUniverse& universe = universes[u];
    output.add(chain_name(universe.number) + ".txt", [&](const auto& path) {
      core::write_text(
          path, chain_text(read_draws(output.path() / "samples.h5", u, draws, parameters), parameters));
    });
    output.add_text(chain_name(universe.number) + ".paramnames", names);
    output.add_text(chain_name(universe.number) + ".ranges", ranges);
  }
}

}  // namespace cosmo::infer
