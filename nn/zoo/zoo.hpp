#pragma once
// The networks that can be chosen by name. A new one needs a file here and a row in zoo.cpp.

#include <span>
#include <string_view>

#include "nn/network_spec.hpp"

namespace cosmo::nn {

/// One row of the zoo.
struct NetworkEntry {
  std::string_view name;
  NetworkSpec (*make)();
  std::string_view meaning;
  int channels, size, outputs;  ///< data that it is meant for: (channels, size³) and number of parameters
};

/// Every network, in the order in which help texts list them.
std::span<const NetworkEntry> networks();

/// The network called `name`. Throws Error{config}, listing the names, if there is none.
NetworkSpec find_network(std::string_view name);

namespace zoo {

/// The 2018 network for 128³ inputs. Source: Mathuriya et al. 2018, section III-A and figure 2; slope and
/// linear last layer from the authors' code (github.com/NERSC/CosmoFlow, CosmoNet.py).
NetworkSpec cosmoflow();

/// The 2018 network's relative for 64³ inputs. Source: the authors' code (github.com/NERSC/CosmoFlow,
/// CosmoNet.py), without its batch normalisation, which the paper dropped.
NetworkSpec cosmoflow64();

/// A small network for 32³ inputs in the style of the 2018 network, ending in an average over the volume.
NetworkSpec cosmoflow32();

/// Small networks that read the means of each level, for inputs of 32³ to 512³; docs/reference/network.md describes
/// the search that chose them.
NetworkSpec cosmonet32();
NetworkSpec cosmonet64();
NetworkSpec cosmonet128();
NetworkSpec cosmonet256();
NetworkSpec cosmonet512();

/// MLPerf HPC v1.0's CosmoFlow, for 128³ inputs of 4 channels (redshifts). Source: github.com/mlcommons/hpc,
/// cosmoflow/models/cosmoflow.py (kernel, dropout) and configs/cosmo.yaml (sizes); the slope is that of
/// Keras' LeakyReLU.
NetworkSpec mlperf();

/// A U-Net of four levels that predicts a field on the voxels of its input, a whole periodic box whose side 8 divides.
/// Source: Ronneberger et al. 2015 (arXiv:1505.04597) for the shape.
NetworkSpec reconet();

/// The same for classes of voxels.
NetworkSpec webnet();

}  // namespace zoo
}  // namespace cosmo::nn
