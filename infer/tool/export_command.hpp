#pragma once
// cosmo-infer export --format onnx --model DIR --output FILE.onnx or DIR: the network for other programs.

#include "core/run/tool.hpp"

namespace cosmo::infer {

void declare_export(core::Options& options);

/// Writes the network of the best epoch, alone or as model.onnx into a directory with its manifest.
/// Collective.
void run_export(const core::Invocation& run);

}  // namespace cosmo::infer
