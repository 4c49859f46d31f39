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
/// A slice as a picture, figures/NAME.png.
html::Figure slice_figure(const std::string& name, const std::string& caption, const dataset::Slice& slice,
                          const dataset::ColourScale& colours);
/// The prediction less the truth.
dataset::Slice difference(const dataset::Slice& a, const dataset::Slice& b);
/// What begins a page: a title, what came out, and warnings.
std::string page_head(const std::string& title, const std::string& outcome, const std::string& alarm,
                      const std::vector<std::string>& doubts);
/// Its last section: data, split and network.
std::string page_origin(const std::string& data, const std::string& split, const nn::ModelManifest& model);
/// The page: a sentence on what came out, r(k), T(k), slices of input, truth, prediction and difference, and where they came
/// from.
std::string field_html(const FieldPage& page, const std::vector<html::Figure>& figures);

}  // namespace cosmo::infer
