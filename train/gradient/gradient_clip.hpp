#pragma once

#include <span>

namespace cosmo::train {

/// Scales a gradient whose norm exceeds `limit` to that norm; the same bits for any number of threads. A
/// gradient that is not finite stays as it is. Source: Pascanu et al. 2013 (PMLR 28, 1310), algorithm 1.
void clip_gradient(std::span<float> gradient, double limit);

}  // namespace cosmo::train
