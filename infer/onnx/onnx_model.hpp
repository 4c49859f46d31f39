#pragma once
// A trained network as an ONNX model (onnx.ai, IR version 7, operator set 13), for other programs to run.
//
//   input    counts      float32 (N, C, n, n, n)  as cosmo-prep stores them; for a field, its values
//   outputs  parameters  float32 (N, P)           physical units; not for a network with other outputs than P
//                                                 labels, as with --loss gaussian and mixture
//            labels      float32 (N, outputs)     the network's own outputs: P labels in [-1, 1], or more
//                                                 outputs, whose meaning its loss defines
//
// The transform of voxels and the scaling of labels are nodes of the graph. Source: onnx/onnx.proto,
// onnx/defs.

#include <string>

#include "infer/predict/predictor.hpp"

namespace cosmo::infer {

/// The bytes of the model's .onnx file; the same network gives the same bytes. Throws Error{config} for a
/// network of more than protobuf's 2 GiB.
std::string encode_onnx(const Predictor& predictor);

}  // namespace cosmo::infer
