#include "sim/nbody/bullfrog_stepper.hpp"

#include <atomic>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>

#include "sim/nbody/lpt.hpp"

namespace cosmo::sim {

double BullFrogStepper::on_the_way(double a_start, double share) const {
  const double growth = std::lerp(background_.D1(a_start), background_.D1(1), share);
  std::uintmax_t iterations = 100;
  return boost::math::tools::toms748_solve([&](double a) { return background_.D1(a) - growth; }, a_start, 1.0,
                                           boost::math::tools::eps_tolerance<double>(), iterations)
      .second;
}

std::vector<Step> BullFrogStepper::schedule(double a_start, int steps) const {
  const auto at = [&](double step) { return on_the_way(a_start, step / steps); };
  std::vector<Step> result;
  for (int i = 0; i < steps; ++i) {
    result.push_back({at(i + 0.5), i + 1 < steps ? at(i + 1.5) : 1.0, at(i), at(i + 1)});
  }
  return result;
}

void BullFrogStepper::start(ParticleSet& particles, const core::GridSpec& lattice, const Step& first) {
  a_ = first.a_force;
  a_kicked_ = first.a_kick_from;
  const auto first_order = static_cast<float>(background_.D1(a_kicked_));
  const auto second_order = static_cast<float>(background_.D2(a_kicked_));
  const auto velocity_of_second = static_cast<float>(slope(a_kicked_));
  const float d = drift(a_kicked_, a_);
  const Wrap wrap(forces_.grid().box_size);
  particles.reuse_displacements();
  float *x = particles.x().data(), *v = particles.p().data();
  std::atomic<bool> stray = false;
  for_each_node(lattice, forces_.communicator(), [=, &stray](std::size_t i, const Vector4& q) {
    const Vector4 psi1 = load3(x + 3 * i), psi2 = load3(v + 3 * i);
    const Vector4 velocity = psi1 + velocity_of_second * psi2;
    store3(v + 3 * i, velocity);
    store3(x + 3 * i, wrap(q + (first_order * psi1 + second_order * psi2 + d * velocity), stray));
  });
  settle(particles, stray);
}

void BullFrogStepper::advance(ParticleSet& particles, const Step& step) {
  const double kept = alpha(step);
  const auto of_v = static_cast<float>(kept);
  const auto of_g = static_cast<float>((kept - 1) / background_.D1(step.a_force));
  const float d = drift(step.a_force, step.a_next);
  const Wrap wrap(forces_.grid().box_size);
  float *x = particles.x().data(), *v = particles.p().data();
  std::atomic<bool> stray = false;
  forces_.accelerate(particles, [=, &stray](const Group& i, const Vectors& position, const Vectors& g) {
    const Vectors velocity = of_v * load3(v, i) + of_g * g;
    store3(v, i, velocity);
    store3(x, i, wrap(position + d * velocity, stray));
  });
  settle(particles, stray);
  a_ = step.a_next;
  a_kicked_ = step.a_kick_to;
}

void BullFrogStepper::drift_to(ParticleSet& particles, double a) const {
  const float d = drift(a_, a);
  const Wrap wrap(forces_.grid().box_size);
  float* x = particles.x().data();
  const float* v = particles.p().data();
  std::atomic<bool> stray = false;
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); i += 3) {
    store3(x + i, wrap(load3(x + i) + d * load3(v + i), stray));
  }
  settle(particles, stray);
}

void BullFrogStepper::finish(ParticleSet& particles, double a) const {
  const double kicked = background_.T_D1(a_kicked_);
  const auto of_v = static_cast<float>(kicked);
  const auto of_g = static_cast<float>((kicked - background_.T_D1(a)) / background_.D1(a));
  float* p = particles.p().data();
  if (of_g != 0) {
    return forces_.accelerate(particles, [=](const Group& i, const Vectors&, const Vectors& g) {
      store3(p, i, of_v * load3(p, i) + of_g * g);
    });
  }
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); ++i) p[i] *= of_v;
}

double BullFrogStepper::alpha(const Step& step) const {
  const double middle = background_.D1(step.a_force), from = slope(step.a_kick_from);
  const double second = background_.D2(step.a_kick_from) + from * (middle - background_.D1(step.a_kick_from));
  const double force = second / middle - middle;
  return (slope(step.a_kick_to) - force) / (from - force);
}

}  // namespace cosmo::sim
