#include "sim/cola_stepper.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>

#include "core/error.hpp"

namespace cosmo::sim {

namespace {

constexpr double kExponent = -2.5;  // nLPT of the paper

double u(double a) { return std::pow(a, kExponent); }
double du_da(double a) { return kExponent * std::pow(a, kExponent - 1); }

}  // namespace

void ColaStepper::start(ParticleSet& particles, double a) {
  displace(particles, 0, background_.D1(a), background_.D2(a));
  a_ = a_kicked_ = a;
}

void ColaStepper::advance(ParticleSet& particles, const Step& step) {
  kick(particles, step.a_force, step.a_kick_from, step.a_kick_to);
  const auto integrand = [this](double a) { return u(a) / background_.Q(a); };
  const double integral =
      boost::math::quadrature::gauss<double, 15>::integrate(integrand, step.a_force, step.a_next);
  displace(particles, integral / u(step.a_kick_to),
           background_.D1(step.a_next) - background_.D1(step.a_force),
           background_.D2(step.a_next) - background_.D2(step.a_force));
  a_ = step.a_next;
}

void ColaStepper::finish(ParticleSet& particles) {
  kick(particles, a_, a_kicked_, a_);
  const auto along_psi1 = static_cast<float>(background_.T_D1(a_));
  const auto along_psi2 = static_cast<float>(background_.T_D2(a_));
  float* p = particles.p().data();
  const float* psi1 = particles.psi1().data();
  const float* psi2 = particles.psi2().data();
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); ++i) p[i] += along_psi1 * psi1[i] + along_psi2 * psi2[i];
}

void ColaStepper::kick(ParticleSet& particles, double a_force, double a_from, double a_to) {
  const double factor = (u(a_to) - u(a_from)) / (background_.Q(a_force) * du_da(a_force));
  const auto along_g = static_cast<float>(-1.5 * background_.omega_m() * a_force * factor);
  const auto along_psi1 = static_cast<float>(-background_.TT_D1(a_force) * factor);
  const auto along_psi2 = static_cast<float>(-background_.TT_D2(a_force) * factor);
  float* p = particles.p().data();
  const float* psi1 = particles.psi1().data();
  const float* psi2 = particles.psi2().data();
  forces_.accelerate(particles, [=](std::size_t i, const Acceleration& g) {
    p[3 * i] += along_g * g.x + along_psi1 * psi1[3 * i] + along_psi2 * psi2[3 * i];
    p[3 * i + 1] += along_g * g.y + along_psi1 * psi1[3 * i + 1] + along_psi2 * psi2[3 * i + 1];
    p[3 * i + 2] += along_g * g.z + along_psi1 * psi1[3 * i + 2] + along_psi2 * psi2[3 * i + 2];
  });
  a_kicked_ = a_to;
}

void ColaStepper::displace(ParticleSet& particles, double along_p, double along_psi1, double along_psi2) {
  const auto f = static_cast<float>(along_p), f1 = static_cast<float>(along_psi1),
             f2 = static_cast<float>(along_psi2);
  const auto box = static_cast<float>(forces_.grid().box_size);
  float* __restrict x = particles.x().data();
  const float* __restrict p = particles.p().data();
  const float* __restrict psi1 = particles.psi1().data();
  const float* __restrict psi2 = particles.psi2().data();
  std::int64_t strays = 0;
#pragma omp parallel for reduction(+ : strays) schedule(static)
  for (std::size_t i = 0; i < 3 * particles.size(); ++i) {
    const float moved = x[i] + (f * p[i] + f1 * psi1[i] + f2 * psi2[i]);
    const float wrapped = moved - box * std::floor(moved / box);
    strays += !(wrapped >= 0 && wrapped <= box);
    x[i] = wrapped < box ? wrapped : 0;  // rounding may give the box size itself
  }
  const auto& comm = forces_.communicator();
  comm.agree([strays] {
    core::ensure(strays == 0, core::Fault::numeric,
                 "{} coordinates are no longer numbers: check the cosmology and --z-initial.", strays);
  });
  particles.move_to_owners(comm, forces_.grid());
}

}  // namespace cosmo::sim
