#pragma once

#include "sim/nbody/bullfrog_stepper.hpp"

namespace cosmo::sim {

/// FastPM's kicks in the form of BullFrog's: right in the Zel'dovich approximation, α = F_n/F_{n+1} with F = p/v = T[D1], where
/// BullFrog's follow second order. Steps are equal in the scale factor.
/// Source: Feng, Chu, Seljak & McDonald 2016 (arXiv:1603.00476); α as in Rampf, List & Hahn 2024 (arXiv:2409.19049).
class FastPmStepper : public BullFrogStepper {
 public:
  using BullFrogStepper::BullFrogStepper;

 protected:
  double on_the_way(double a_start, double share) const override;
  double alpha(const Step& step) const override;
};

}  // namespace cosmo::sim
