#include "infer/field/class_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/universe/cosmic_web.hpp"
#include "infer/evaluate/bootstrap.hpp"

namespace cosmo::infer {

using dataset::Confusion;

namespace {

using List = std::array<double, ClassFigures::kAll>;

struct OneSum {
  Confusion confusion;

  void add(const OneSum& more) { confusion.add(more.confusion); }
  List figures() const { return ClassFigures(confusion).list(); }
};

/// Those of the network and of another method, for paired errors.
struct PairSum {
  OneSum one, other;

  void add(const PairSum& more) {
    one.add(more.one);
    other.add(more.other);
  }
  List figures() const {
    List difference = one.figures();
    const List less = other.figures();
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= less[i];
    return difference;
  }
};

template <class Sum>
Sum sum_of(const std::vector<Sum>& universes) {
  Sum sum;
  for (const Sum& universe : universes) sum.add(universe);
  return sum;
}

std::vector<OneSum> sums_of(const ClassMethod& method) {
  std::vector<OneSum> sums;
  for (const Confusion& confusion : method.universes) sums.push_back({confusion});
  return sums;
}

ClassOutcome outcome_of(const ClassMethod& method) {
  const std::vector<OneSum> sums = sums_of(method);
  const OneSum all = sum_of(sums);
  return {method.name, method.smoothing, all.confusion, ClassFigures(all.confusion),
          ClassFigures(bootstrap_errors(sums))};
}

core::Json by_class(const std::array<double, ClassFigures::kClasses>& values) {
  core::Json json;
  for (std::size_t c = 0; c < values.size(); ++c) json[std::string(core::kWebClasses[c])] = values[c];
  return json;
}

/// The figures under their names, which end in `suffix`.
void add_figures(core::Json& json, const ClassFigures& figures, const std::string& suffix) {
  json["iou" + suffix] = by_class(figures.iou);
  json["f1" + suffix] = by_class(figures.f1);
  json["volume_shares" + suffix] = by_class(figures.predicted);
  json["macro_f1" + suffix] = figures.macro_f1;
  json["mcc" + suffix] = figures.mcc;
  json["mcc_void" + suffix] = figures.mcc_void;
}

core::Json to_json(const ClassOutcome& outcome) {
  core::Json json = {{"confusion", outcome.confusion.voxels}};
  if (outcome.smoothing > 0) json["smoothing"] = outcome.smoothing;
  add_figures(json, outcome.value, "");
  add_figures(json, outcome.error, "_se");
  return json;
}

}  // namespace

ClassFigures::ClassFigures(const Confusion& confusion)
    : macro_f1(confusion.macro_f1()), mcc(confusion.mcc()), mcc_void(confusion.mcc(0)) {
  for (std::size_t c = 0; c < kClasses; ++c) {
    iou[c] = confusion.iou(c);
    f1[c] = confusion.f1(c);
    predicted[c] = static_cast<double>(confusion.of_predicted(c)) / static_cast<double>(confusion.sum());
  }
}

ClassFigures::ClassFigures(const std::array<double, kAll>& list)
    : macro_f1(list[3 * kClasses]), mcc(list[3 * kClasses + 1]), mcc_void(list[3 * kClasses + 2]) {
  for (std::size_t c = 0; c < kClasses; ++c) {
    iou[c] = list[c];
    f1[c] = list[kClasses + c];
    predicted[c] = list[2 * kClasses + c];
  }
}

std::array<double, ClassFigures::kAll> ClassFigures::list() const {
  std::array<double, kAll> list;
  auto next =
      std::ranges::copy(predicted, std::ranges::copy(f1, std::ranges::copy(iou, list.begin()).out).out).out;
  for (const double figure : {macro_f1, mcc, mcc_void}) *next++ = figure;
  return list;
}

ClassMetrics class_metrics(const std::string& quantity, const std::vector<ClassMethod>& methods) {
  const ClassMethod& network = methods.front();
  std::vector<double> smoothings, scores;
  for (std::size_t m = 1; m < methods.size(); ++m) {
    smoothings.push_back(methods[m].smoothing);
    scores.push_back(sum_of(sums_of(methods[m])).confusion.macro_f1());
  }
  const auto best = std::ranges::max_element(scores) - scores.begin();
  const ClassMethod& finder = methods[static_cast<std::size_t>(best) + 1];
  std::vector<PairSum> pairs;
  for (std::size_t u = 0; u < network.universes.size(); ++u)
    pairs.push_back({{network.universes[u]}, {finder.universes[u]}});
  return {quantity,
          network.universes.size(),
          outcome_of(network),
          outcome_of(finder),
          ClassFigures(sum_of(pairs).figures()),
          ClassFigures(bootstrap_errors(pairs)),
          smoothings,
          scores};
}

core::Json to_json(const ClassMetrics& metrics) {
  core::Json web = to_json(metrics.network);
  web["classes"] = core::kWebClasses;
  web["universes"] = metrics.universes;
  core::WebVolumes truth;
  for (std::size_t c = 0; c < truth.voxels.size(); ++c)
    truth.voxels[c] = metrics.network.confusion.of_truth(c);
  for (std::size_t c = 0; c < truth.voxels.size(); ++c)
    web["true_volume_shares"][std::string(core::kWebClasses[c])] = truth.share(c);
  core::Json& finder = web["baselines"]["finder"] = to_json(metrics.finder);
  finder["smoothings"] = metrics.smoothings;
  finder["macro_f1_of_smoothings"] = metrics.of_smoothings;
  core::Json& gain = web["gain_over_finder"] = core::Json::object();
  add_figures(gain, metrics.gain, "");
  add_figures(gain, metrics.gain_error, "_se");
  return {{metrics.quantity, web}};
}

std::string with_error(double value, double error) {
  return std::isnan(error) ? fmt::format("{:.4f}", value) : fmt::format("{:.4f} ± {:.4f}", value, error);
}

std::string text_of(const ClassMetrics& metrics) {
  const ClassOutcome &network = metrics.network, &finder = metrics.finder;
  std::string text = fmt::format("{:<10}{:>8}{:>10}  {:>17}  {:>17}  {:>17}\n", "class", "true", "predicted",
                                 "network F1", "network IoU", "finder F1");
  for (std::size_t c = 0; c < ClassFigures::kClasses; ++c)
    text +=
        fmt::format("{:<10}{:>6.2f} %{:>8.2f} %  {:>17}  {:>17}  {:>17}\n", core::kWebClasses[c],
                    100 * static_cast<double>(network.confusion.of_truth(c)) /
                        static_cast<double>(network.confusion.sum()),
                    100 * network.value.predicted[c], with_error(network.value.f1[c], network.error.f1[c]),
                    with_error(network.value.iou[c], network.error.iou[c]),
                    with_error(finder.value.f1[c], finder.error.f1[c]));
  const auto line = [&](const char* name, double ClassFigures::*figure) {
    text += fmt::format("{:<28}{:>19}; finder {}; gain {}\n", name,
                        with_error(network.value.*figure, network.error.*figure),
                        with_error(finder.value.*figure, finder.error.*figure),
                        with_error(metrics.gain.*figure, metrics.gain_error.*figure));
  };
  line("macro F1", &ClassFigures::macro_f1);
  line("MCC", &ClassFigures::mcc);
  line("MCC of void against rest", &ClassFigures::mcc_void);
  return text +
         fmt::format(
             "all voxels of {} universes; finder: the tidal tensor of the counts, smoothed by R = {:g}, the "
             "best of several\n",
             metrics.universes, finder.smoothing);
}

std::string outcome_of(const ClassMetrics& metrics) {
  const double gain = metrics.gain.macro_f1, error = metrics.gain_error.macro_f1;
  const char* place = std::isnan(error)   ? "without an error, since there is one universe, beside"
                      : gain > 2 * error  ? "above"
                      : gain < -2 * error ? "below"
                                          : "level with";
  return fmt::format(
      "The macro F1 of the predicted classes is {:.3f}, {} that of the finder on the same counts, {:.3f}; void against "
      "the rest has a Matthews coefficient of {:.3f}.",
      metrics.network.value.macro_f1, place, metrics.finder.value.macro_f1, metrics.network.value.mcc_void);
}

}  // namespace cosmo::infer
