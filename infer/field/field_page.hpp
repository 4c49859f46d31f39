#pragma once
// The report on predicted fields.

#include <string>
#include <vector>

#include "core/universe/length.hpp"
#include "dataset/measure/slice.hpp"
#include "infer/field/field_metrics.hpp"
#include "infer/report/page/html.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

/// Slices through one universe.
struct FieldSlices {
  std::uint32_t simulation = 0;
  dataset::Slice input, truth, prediction;
};

struct FieldPage {
  const FieldMetrics& metrics;
  const nn::ModelManifest& model;
  std::string data, split;
  core::LengthUnit unit;
  std::vector<std::string> doubts;
  FieldSlices slices;
  std::string alarm;  ///< on universes that are not unseen, or empty
};

/// figures/correlation.svg, figures/transfer.svg and the slices.
std::vector<html::Figure> field_figures(const FieldPage& page);
/// The page: a sentence on what came out, r(k), T(k), slices of input, truth, prediction and difference, and where they came
/// from.
std::string field_html(const FieldPage& page, const std::vector<html::Figure>& figures);

}  // namespace cosmo::infer
