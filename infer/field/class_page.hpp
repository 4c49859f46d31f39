#pragma once
// The report on predicted classes.

#include <string>
#include <vector>

#include "infer/field/class_metrics.hpp"
#include "infer/field/field_page.hpp"
#include "infer/report/page/html.hpp"
#include "nn/model/model_manifest.hpp"

namespace cosmo::infer {

struct ClassPage {
  const ClassMetrics& metrics;
  const nn::ModelManifest& model;
  std::string data, split;
  std::vector<std::string> doubts;
  FieldSlices slices;
  std::string alarm;  ///< on universes that are not unseen, or empty
};

/// Slices of input, truth, prediction and difference.
std::vector<html::Figure> class_figures(const ClassPage& page);
/// The page: a sentence on what came out, the figures of each class, the confusion, slices, and where they came from.
std::string class_html(const ClassPage& page, const std::vector<html::Figure>& figures);

}  // namespace cosmo::infer
