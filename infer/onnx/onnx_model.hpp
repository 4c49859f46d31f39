#pragma once
// A trained network as an ONNX model (onnx.ai, IR version 7, operator set 13), for other programs to run.
//
//   input    counts      float32 (N, C, n, n, n)  as cosmo-prep stores them; for a field, its values
//   outputs  parameters  float32 (N, P)           physical units; not for a network with other outputs than P
//                                                 labels, as with --loss gaussian and mixture
//            labels      float32 (N, outputs)     the network's own outputs: P labels in [-1, 1], or more
//                                                 outputs, whose meaning its loss defines; with a baseline mixed
//                                                 with the regression's labels
//   and with a posterior
//            posterior_mean, posterior_deviation  float32 (N, P)     physical units
//            posterior_covariance                 float32 (N, P, P)
//
// The transform of voxels, the regression on summary statistics, the scaling of labels and the posterior are nodes of
// the graph. Source: onnx/onnx.proto, onnx/defs.

#include <cstdint>
#include <filesystem>
#include <string>

#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

/// Whether a model has a posterior whose moments a graph computes: of at most kMostGraphParameters parameters.
bool has_graph_posterior(const nn::ModelManifest& model);

/// The bytes of the .onnx file of a model in `directory`, which `predictor` has loaded; the same model gives the same bytes.
/// Throws Error{config} for a network of more than protobuf's 2 GiB, and as nn::read_posterior does.
std::string encode_onnx(const std::filesystem::path& directory, const Predictor& predictor);

/// Bytes of the file, at most, unless the network is tiny beside its layers' number.
std::uint64_t onnx_bytes(const nn::ModelManifest& model);

}  // namespace cosmo::infer
