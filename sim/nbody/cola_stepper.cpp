#include "sim/nbody/cola_stepper.hpp"

#include <atomic>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>

#include "sim/nbody/lpt.hpp"

namespace cosmo::sim {

namespace {

/// The paper's nLPT; it uses -2.5, which needs more steps for the same accuracy: docs/decisions/0005.
constexpr double kExponent = -1.5;

double u(double a) { return std::pow(a, kExponent); }
double du_da(double a) { return kExponent * std::pow(a, kExponent - 1); }

}  // namespace

std::vector<Step> ColaStepper::schedule(double a_start, int steps) const {
  const auto at = [&](double step) { return std::lerp(a_start, 1.0, step / steps); };
  std::vector<Step> result;
  for (int i = 0; i < steps; ++i) {
    result.push_back({at(i), at(i + 1), i == 0 ? a_start : at(i - 0.5), at(i + 0.5)});
  }
  return result;
}

void ColaStepper::start(ParticleSet& particles, const core::GridSpec& lattice, const Step& first) {
  const double a = first.a_force;
  place(particles, lattice, forces_.communicator());
  displace(particles, {0, static_cast<float>(background_.D1(a)), static_cast<float>(background_.D2(a))});
  a_ = a_kicked_ = a;
}

void ColaStepper::advance(ParticleSet& particles, const Step& step) {
  const Kick k = kick(step.a_force, step.a_kick_from, step.a_kick_to);
  a_kicked_ = step.a_kick_to;
  const Drift d = drift(step.a_force, step.a_next);
  const Wrap wrap(forces_.grid().box_size);
  float* x = particles.x().data();
  float* p = particles.p().data();
  const float* first_order = particles.psi1().data();
  const float* second_order = particles.psi2().data();
  std::atomic<bool> stray = false;
  forces_.accelerate(particles, [=, &stray](const Group& i, const Vectors& position, const Vectors& g) {
    const Vectors psi1 = load3(first_order, i), psi2 = load3(second_order, i);
    const Vectors momentum = load3(p, i) + (k.g * g + k.psi1 * psi1 + k.psi2 * psi2);
    store3(p, i, momentum);
    store3(x, i, wrap(position + (d.p * momentum + d.psi1 * psi1 + d.psi2 * psi2), stray));
  });
  settle(particles, stray);
  a_ = step.a_next;
}

void ColaStepper::drift_to(ParticleSet& particles, double a) const { displace(particles, drift(a_, a)); }

void ColaStepper::finish(ParticleSet& particles, double a) const {
  const Kick k = kick(a, a_kicked_, a);
  const float along_psi1 = k.psi1 + static_cast<float>(background_.T_D1(a));
  const float along_psi2 = k.psi2 + static_cast<float>(background_.T_D2(a));
  float* p = particles.p().data();
  const float* psi1 = particles.psi1().data();
  const float* psi2 = particles.psi2().data();
  forces_.accelerate(particles, [=](const Group& i, const Vectors&, const Vectors& g) {
    const Vectors known = along_psi1 * load3(psi1, i) + along_psi2 * load3(psi2, i);
    store3(p, i, load3(p, i) + (k.g * g + known));
  });
}

ColaStepper::Kick ColaStepper::kick(double a_force, double a_from, double a_to) const {
  const double factor = (u(a_to) - u(a_from)) / (background_.Q(a_force) * du_da(a_force));
  return {static_cast<float>(-1.5 * background_.omega_m() * a_force * factor),
          static_cast<float>(-background_.TT_D1(a_force) * factor),
          static_cast<float>(-background_.TT_D2(a_force) * factor)};
}

ColaStepper::Drift ColaStepper::drift(double a_from, double a_to) const {
  const auto integrand = [this](double a) { return u(a) / background_.Q(a); };
  const double integral = boost::math::quadrature::gauss<double, 15>::integrate(integrand, a_from, a_to);
  return {static_cast<float>(integral / u(a_kicked_)),
          static_cast<float>(background_.D1(a_to) - background_.D1(a_from)),
          static_cast<float>(background_.D2(a_to) - background_.D2(a_from))};
}

void ColaStepper::displace(ParticleSet& particles, const Drift& d) const {
  const Wrap wrap(forces_.grid().box_size);
  float* x = particles.x().data();
  const float* p = particles.p().data();
  const float* psi1 = particles.psi1().data();
  const float* psi2 = particles.psi2().data();
  std::atomic<bool> stray = false;
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); i += 3) {
    const Vector4 moved = d.p * load3(p + i) + d.psi1 * load3(psi1 + i) + d.psi2 * load3(psi2 + i);
    store3(x + i, wrap(load3(x + i) + moved, stray));
  }
  settle(particles, stray);
}

}  // namespace cosmo::sim
