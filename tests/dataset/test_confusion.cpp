// Figures of predicted classes, against sums over voxels.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "dataset/measure/confusion.hpp"

using namespace cosmo;
using dataset::Confusion;

namespace {

/// Pearson's correlation of two lists of vectors of 0 and 1: Matthews' coefficient by its definition.
double correlation(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b, int first,
                   int last) {
  const auto size = static_cast<double>(a.size());
  double ab = 0, aa = 0, bb = 0;
  for (int c = first; c < last; ++c) {
    double mean_a = 0, mean_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) mean_a += (a[i] == c) / size, mean_b += (b[i] == c) / size;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ab += ((a[i] == c) - mean_a) * ((b[i] == c) - mean_b);
      aa += std::pow((a[i] == c) - mean_a, 2);
      bb += std::pow((b[i] == c) - mean_b, 2);
    }
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace

TEST_CASE("figures of classes are those of their definitions") {
  std::vector<std::uint8_t> truth, predicted;
  for (int i = 0; i < 1000; ++i) {
    truth.push_back(static_cast<std::uint8_t>(i * i * i % 11 % 4));
    predicted.push_back(static_cast<std::uint8_t>(i % 3 == 0 ? i % 4 : truth.back()));
  }
  Confusion confusion;
  confusion.add(std::span(truth).first(300), std::span(predicted).first(300));
  Confusion rest;
  rest.add(std::span(truth).subspan(300), std::span(predicted).subspan(300));
  confusion.add(rest);
  CHECK(confusion.sum() == 1000);
  double macro = 0;
  for (std::uint8_t c = 0; c < 4; ++c) {
    double both = 0, either = 0, precise = 0, of_truth = 0;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      both += truth[i] == c && predicted[i] == c;
      either += truth[i] == c || predicted[i] == c;
      precise += predicted[i] == c;
      of_truth += truth[i] == c;
    }
    CHECK(confusion.iou(c) == Approx(both / either));
    const double precision = both / precise, recall = both / of_truth;
    CHECK(confusion.f1(c) == Approx(2 * precision * recall / (precision + recall)));
    macro += confusion.f1(c) / 4;
    CHECK(confusion.mcc(c) == Approx(correlation(truth, predicted, c, c + 1)));
  }
  CHECK(confusion.macro_f1() == Approx(macro));
  CHECK(confusion.mcc() == Approx(correlation(truth, predicted, 0, 4)));
}

TEST_CASE("figures of what is everywhere right, or the same, are 1 and 0") {
  const std::vector<std::uint8_t> truth = {0, 0, 1, 2, 3}, same(5, 0);
  Confusion right, constant;
  right.add(truth, truth);
  constant.add(truth, same);
  CHECK((right.macro_f1() == 1 && right.mcc() == 1 && right.mcc(0) == 1 && right.iou(3) == 1));
  CHECK((constant.mcc() == 0 && constant.mcc(0) == 0 && constant.iou(1) == 0));
  CHECK(constant.macro_f1() == Approx(2 * 2.0 / 7 / 4));
  CHECK((Confusion().macro_f1() == 0 && Confusion().mcc() == 0));
}
