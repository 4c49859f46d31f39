#include "dataset/measure/confusion.hpp"

#include <cmath>

namespace cosmo::dataset {

namespace {

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

void Confusion::add(std::span<const std::uint8_t> truth, std::span<const std::uint8_t> predicted) {
  for (std::size_t i = 0; i < truth.size(); ++i) ++voxels[truth[i]][predicted[i]];
}

void Confusion::add(const Confusion& others) {
  for (std::size_t t = 0; t < kClasses; ++t) {
    for (std::size_t p = 0; p < kClasses; ++p) voxels[t][p] += others.voxels[t][p];
  }
}

std::uint64_t Confusion::sum() const {
  std::uint64_t all = 0;
  for (std::size_t c = 0; c < kClasses; ++c) all += of_truth(c);
  return all;
}

std::uint64_t Confusion::of_truth(std::size_t c) const {
  std::uint64_t all = 0;
  for (const std::uint64_t cell : voxels[c]) all += cell;
  return all;
}

std::uint64_t Confusion::of_predicted(std::size_t c) const {
  std::uint64_t all = 0;
  for (const auto& row : voxels) all += row[c];
  return all;
}

double Confusion::iou(std::size_t c) const {
  return ratio(static_cast<double>(voxels[c][c]),
               static_cast<double>(of_truth(c) + of_predicted(c) - voxels[c][c]));
}

double Confusion::f1(std::size_t c) const {
  return ratio(2 * static_cast<double>(voxels[c][c]), static_cast<double>(of_truth(c) + of_predicted(c)));
}

double Confusion::macro_f1() const {
  double sum = 0;
  for (std::size_t c = 0; c < kClasses; ++c) sum += f1(c);
  return sum / kClasses;
}

double Confusion::mcc() const {
  const auto all = static_cast<double>(sum());
  double right = 0, product = 0, of_truths = 0, of_predictions = 0;
  for (std::size_t c = 0; c < kClasses; ++c) {
    const auto truth = static_cast<double>(of_truth(c)), predicted = static_cast<double>(of_predicted(c));
    right += static_cast<double>(voxels[c][c]);
    product += truth * predicted;
    of_truths += truth * truth;
    of_predictions += predicted * predicted;
  }
  return ratio(right * all - product, std::sqrt((all * all - of_predictions) * (all * all - of_truths)));
}

double Confusion::mcc(std::size_t c) const {
  const auto all = static_cast<double>(sum()), truth = static_cast<double>(of_truth(c)),
             predicted = static_cast<double>(of_predicted(c));
  return ratio(static_cast<double>(voxels[c][c]) * all - truth * predicted,
               std::sqrt(truth * (all - truth) * predicted * (all - predicted)));
}

}  // namespace cosmo::dataset
