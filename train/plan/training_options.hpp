#pragma once

namespace cosmo::core {
class Options;
}

namespace cosmo::train {

/// Declares the options of training.
void declare_training(core::Options& options);

}  // namespace cosmo::train
