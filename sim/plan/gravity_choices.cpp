#include "sim/plan/gravity_choices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "core/file/text_file.hpp"
#include "core/named.hpp"
#include "sim/gravity/force_kernel.hpp"
#include "sim/nbody/integrator.hpp"

namespace cosmo::sim {

using core::ensure, core::Fault;

namespace {

constexpr const char* kFitted = "fitted";
constexpr const char* kNone = "none";
constexpr int kMostDraws = 1000;  ///< draws for one universe before it is given up

/// The k index at which the force mesh beats with the particles' lattice: for 64³ particles 20 Mpc/h apart,
/// meshes of 72 and 80 multiply P(k) by 5 and 14 there. Nothing if that is beyond what both resolve, as it is
/// for multiples of half the particles per side.
std::optional<int> beat(int mesh, int particles) {
  const int index = std::abs(mesh - particles);
  return index > 0 && 2 * index < std::min(particles, mesh) ? std::optional(index) : std::nullopt;
}

/// One ALPHA,KL,KS of --gradient-descent.
GradientDescent checked_descent(double alpha, double long_wave, double short_wave, const std::string& text) {
  const auto possible = [](double k) { return k >= 1e-3 && k <= 1e3; };
  constexpr double kMostDescent = 10;  // particles then go ten times as far as their displacement
  ensure(alpha != 0 && std::abs(alpha) <= kMostDescent && possible(long_wave) && possible(short_wave),
         Fault::config,
         "--gradient-descent is '{}': choose ALPHA between -{} and {} but not 0, KL and KS between 0.001 and "
         "1000 h/Mpc.",
         text, kMostDescent, kMostDescent);
  return {alpha, long_wave, short_wave};
}

/// --gradient-descent. Throws Error{usage} unless it lists names and threes of numbers, Error{config} if these are
/// impossible.
Choices<GravityChoices::Descent> read_descents(const core::Options& options) {
  const std::string& text = options.text("gradient-descent");
  const std::vector<std::string_view> parts = core::cells_of(text, ',');
  std::vector<GravityChoices::Descent> list;
  for (std::size_t i = 0; i < parts.size();) {
    if (parts[i] == kFitted || parts[i] == kNone) {
      list.push_back(parts[i] == kNone ? GravityChoices::Descent(GradientDescent{}) : std::nullopt);
      ++i;
      continue;
    }
    const auto named = [](std::string_view part) { return part == kFitted || part == kNone; };
    const bool three =
        i + 3 <= parts.size() && std::none_of(parts.begin() + static_cast<std::ptrdiff_t>(i),
                                              parts.begin() + static_cast<std::ptrdiff_t>(i) + 3, named);
    ensure(
        three && !(parts[i].front() >= 'A' && parts[i].front() <= 'z'), Fault::usage,
        "--gradient-descent is '{}': give fitted, or three numbers ALPHA,KL,KS, or a list of such and none.",
        text);
    const auto number = [&](std::size_t n) {
      return core::parse_number(parts[i + n], "--gradient-descent", text);
    };
    list.push_back(checked_descent(number(0), number(1), number(2), text));
    i += 3;
  }
  for (const GravityChoices::Descent& descent : list) {
    ensure(std::ranges::count(list, descent) == 1, Fault::config,
           "--gradient-descent is '{}': name each choice once.", text);
  }
  return Choices(std::move(list));
}

/// Sets the fitted descent. Throws Error{config} naming what the fit is not for.
void fit_descent(Gravity& gravity, double box_size, const Box& box, const GravityChoices::Fitting& fitting) {
  ensure(gravity.integrator == "cola" && gravity.z_initial == 9 && fitting.redshifts == std::vector{0.0},
         Fault::config,
         "--gradient-descent fitted is for --integrator cola, --z-initial 9 and --redshifts 0: "
         "give these, or ALPHA,KL,KS.");
  gravity.descent = find_descent(gravity.force_kernel, fitting.lpt_order, box_size / box.particles_per_side,
                                 box_size / gravity.mesh_per_side, gravity.steps);
}

/// What is drawn together with a fit of descent and has none.
std::string conflict_of(const Gravity& gravity) {
  if (gravity.integrator != "cola") return "--integrator " + gravity.integrator;
  if (gravity.z_initial != 9) return "--z-initial other than 9";
  return fmt::format("--force-kernel {}, --mesh {} and --steps {}", gravity.force_kernel,
                     gravity.mesh_per_side, gravity.steps);
}

/// The settings at these fractions of the choices, and whether their descent is to be fitted.
std::pair<Gravity, bool> settings_at(const GravityChoices& choices, const std::array<double, 6>& fractions,
                                     const Box& box) {
  Gravity gravity;
  gravity.mesh_per_side = choices.mesh.at(fractions[0]);
  gravity.force_kernel = choices.force_kernel
                             ? choices.force_kernel->at(fractions[1])
                             : std::string(best_force_kernel(gravity.mesh_per_side, box.particles_per_side));
  gravity.integrator = choices.integrator.at(fractions[2]);
  gravity.steps = choices.steps.at(fractions[3]);
  gravity.z_initial = choices.z_initial.at(fractions[4]);
  gravity.radiation = choices.radiation;
  const GravityChoices::Descent descent = choices.descent.at(fractions[5]);
  gravity.descent = descent.value_or(GradientDescent{});
  return {gravity, !descent};
}

/// Why no settings are left for a universe, `found` of whose twins have some.
std::string objection(const DrawnGravity& drawn, std::size_t found, int twins) {
  if (drawn.redrawn.empty() || found > 0)
    return fmt::format(
        "--twins {} needs that number of different settings, and there are only {}: let more of them vary.",
        twins, found);
  return fmt::format("{} cannot be: change one of them.", drawn.redrawn.begin()->first);
}

core::Json to_json(const GravityChoices::Descent& descent) {
  if (!descent) return kFitted;
  const auto& [alpha, long_wave, short_wave, growth] = *descent;
  if (alpha == 0) return kNone;
  core::Json json = {alpha, long_wave, short_wave};
  if (growth != 0) json.push_back(growth);
  return json;
}

}  // namespace

void GravityChoices::declare(core::Options& options) {
  options.begin_group(core::kEveryDay);
  options.add("mesh N|LOW:HIGH", std::nullopt,
              fmt::format("cells per side of the force mesh{} [= particles]", kVariesHelp));
  options.begin_group("Gravity");
  options.add("integrator", std::string(kIntegrators.front().name),
              fmt::format("how particles move: {}{}", core::meanings_in(kIntegrators), kListHelp),
              core::names_in(kIntegrators));
  options.add("steps N|LOW:HIGH", "10", fmt::format("time steps{}", kVariesHelp));
  options.add("z-initial Z|LOW:HIGH", "9", fmt::format("redshift at which the steps begin{}", kVariesHelp));
  options.add_flag("radiation",
                   "photons of 2.7255 K and 3.046 massless neutrinos in the expansion and the growth");
  options.begin_group(core::kForExperts);
  options.add(
      "force-kernel", std::nullopt,
      fmt::format(
          "differences that turn the potential into forces: {}{} [{}, but {} if the mesh is finer than "
          "the particles]",
          core::meanings_in(kForceKernels), kListHelp, best_force_kernel(1, 1), best_force_kernel(2, 1)),
      core::names_in(kForceKernels));
  options.add(
      "gradient-descent ALPHA,KL,KS", std::nullopt,
      fmt::format(
          "sharpens the haloes of outputs as a finer mesh would: fitted, for the settings of docs/method/cola.md and by "
          "sigma8, or ALPHA,KL,KS with KL and KS in h/Mpc{} [none]",
          kListHelp));
}

GravityChoices GravityChoices::read(const core::Options& options, const Box& box) {
  GravityChoices choices;
  choices.mesh =
      options.given("mesh") ? read_whole_numbers(options, "mesh", 4, 8192) : box.particles_per_side;
  if (options.given("force-kernel"))
    choices.force_kernel = read_names(options, "force-kernel", core::names_in(kForceKernels));
  choices.integrator = read_names(options, "integrator", core::names_in(kIntegrators));
  choices.steps = read_whole_numbers(options, "steps", 1, 10'000);
  choices.z_initial = read_numbers(options, "z-initial");
  for (const double z : choices.z_initial.values())
    ensure(z > 0 && z <= kEarliestStart, Fault::config, "--z-initial is {}: choose {} above 0 and up to {}.",
           options.text("z-initial"), choices.z_initial.vary() ? "values" : "a value", kEarliestStart);
  choices.radiation = options.flag("radiation");
  if (options.given("gradient-descent")) choices.descent = read_descents(options);
  return choices;
}

bool GravityChoices::vary() const {
  return mesh.vary() || (force_kernel && force_kernel->vary()) || integrator.vary() || steps.vary() ||
         z_initial.vary() || descent.vary();
}

bool GravityChoices::can_be_fitted(double box_size, const Box& box, const Fitting& fitting) const {
  const auto includes = [](const auto& choices, const auto& value) {
    return std::ranges::find(choices.values(), value) != choices.values().end();
  };
  if (!includes(integrator, "cola") || !includes(z_initial, 9.0) || z_initial.is_range() ||
      fitting.redshifts != std::vector{0.0})
    return false;
  const auto all = [](const Choices<int>& choices) {
    std::vector<int> values = choices.values();
    for (int value = values.front() + 1; choices.is_range() && value < values.back(); ++value)
      values.push_back(value);
    return values;
  };
  const std::vector<int> numbers_of_steps = all(steps);
  for (const int cells : all(mesh)) {
    const std::vector<std::string> kernels =
        force_kernel ? force_kernel->values()
                     : std::vector{std::string(best_force_kernel(cells, box.particles_per_side))};
    for (const std::string& kernel : kernels) {
      const auto fitted = [&](int number) {
        return has_fit(kernel, fitting.lpt_order, box_size / box.particles_per_side, box_size / cells,
                       number);
      };
      if (std::ranges::any_of(numbers_of_steps, fitted)) return true;
    }
  }
  return false;
}

DrawnGravity GravityChoices::draw(const Universes& universes, const Box& box, const Fitting& fitting) const {
  DrawnGravity drawn{{}, {}};
  const auto box_of = [&](std::size_t u) { return box.side.mpc_h(universes.list[u].cosmology.h); };
  if (!vary()) {
    auto [gravity, fitted] = settings_at(*this, {}, box);
    for (std::size_t u = 0; fitted && u < universes.list.size(); ++u)
      fit_descent(gravity, box_of(u), box, fitting);
    drawn.list = {gravity};
    return drawn;
  }
  ensure(
      !std::ranges::count(descent.values(), Descent()) || can_be_fitted(box_of(0), box, fitting),
      Fault::config,
      "--gradient-descent fitted has no fit with any of the other choices: leave it out, or choose among the settings of "
      "docs/method/cola.md.");
  const Placement place = universes.settings();
  for (std::size_t u = 0; u < universes.list.size(); ++u) {
    const std::size_t twins = u % static_cast<std::size_t>(universes.twins);
    bool found = false;
    for (std::uint32_t attempt = 0; !found && attempt < kMostDraws; ++attempt) {
      std::array<double, 6> fractions{};
      for (std::uint32_t row = 0; row < fractions.size(); ++row)
        fractions[row] = place(static_cast<std::uint32_t>(u), row, attempt);
      auto [gravity, fitted] = settings_at(*this, fractions, box);
      if (fitted) {
        try {
          fit_descent(gravity, box_of(u), box, fitting);
        } catch (const core::Error&) {
          ++drawn.redrawn["--gradient-descent fitted with " + conflict_of(gravity)];
          continue;
        }
      }
      found = std::find(drawn.list.end() - static_cast<std::ptrdiff_t>(twins), drawn.list.end(), gravity) ==
              drawn.list.end();
      if (found) drawn.list.push_back(gravity);
    }
    ensure(found, Fault::config, "{}", objection(drawn, twins, universes.twins));
  }
  return drawn;
}

void GravityChoices::warn(const core::Log& log, const Box& box, const Universes& universes,
                          const DrawnGravity& drawn, bool gaussian) const {
  for (const int cells : mesh.values()) {
    const auto index = beat(cells, box.particles_per_side);
    if (!index || mesh.is_range()) continue;
    log.warn(
        "--mesh {} beats with the lattice of --particles {}: where they have hardly moved, P(k) has a spike "
        "at {} times the box's fundamental; use a --mesh of 1, 1.5, 2 or 3 times the particles.",
        cells, box.particles_per_side, *index);
  }
  if (mesh.is_range())
    log.warn(
        "--mesh {}:{} has meshes that beat with the lattice of --particles {}, whose P(k) has a spike: list meshes of 1, "
        "1.5, 2 or 3 times the particles.",
        mesh.values()[0], mesh.values()[1], box.particles_per_side);
  const bool fitted =
      std::ranges::any_of(drawn.list, [](const Gravity& gravity) { return gravity.descent.growth != 0; });
  const bool beyond =
      !gaussian || radiation || std::ranges::any_of(universes.list, [](const core::Universe& universe) {
        const core::Cosmology& at = universe.cosmology;
        return at.omega_m < 0.25 || at.omega_m > 0.35 || at.sigma8 < 0.78 || at.sigma8 > 0.95 ||
               at.w0 != -1 || at.wa != 0;
      });
  if (fitted && beyond)
    log.warn(
        "--gradient-descent fitted has been tested for omega_m of 0.25 to 0.35, sigma8 of 0.78 to 0.95, w0 = -1, wa = 0, "
        "without --f-nl and --radiation: compare with a mesh of three times the --particles before relying on it here.");
}

void GravityChoices::identify(core::Json& config, const DrawnGravity& drawn) const {
  const Gravity& any = drawn.list.front();
  config["mesh_per_side"] = mesh.to_json();
  config["force_kernel"] =
      force_kernel ? force_kernel->to_json() : core::Json(mesh.vary() ? "best" : any.force_kernel);
  config["steps"] = steps.to_json();
  config["z_initial"] = z_initial.to_json();
  // Requests without them have the ids of earlier versions.
  if (integrator.vary() || any.integrator != kIntegrators.front().name)
    config["integrator"] = integrator.to_json();
  if (radiation) config["radiation"] = true;
  if (!vary()) {
    if (any.descent.alpha != 0) config["gradient_descent"] = sim::to_json(any.descent);
  } else if (descent.vary() || descent.values().front() != Descent(GradientDescent{})) {
    config["gradient_descent"] = core::Json::array();
    for (const Descent& choice : descent.values()) config["gradient_descent"].push_back(sim::to_json(choice));
  }
}

void GravityChoices::state(core::Facts& facts, const Box& box, const DrawnGravity& drawn) const {
  // The ends of ranges hold for any number of universes.
  std::vector<Gravity> all = drawn.list;
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    Gravity gravity = drawn.list.front();
    const auto set = [end](auto& value, const auto& choices) {
      const auto [low, high] = std::ranges::minmax(choices.values());
      value = end == 0 ? low : high;
    };
    set(gravity.mesh_per_side, mesh);
    set(gravity.steps, steps);
    set(gravity.z_initial, z_initial);
    all.push_back(gravity);
  }
  core::Facts joined;
  for (const Gravity& gravity : all) {
    core::Facts own;
    gravity.state(own, box);
    joined = joined.empty() ? own : core::joined(std::move(joined), own);
  }
  for (auto& [name, fact] : joined) facts.insert_or_assign(name, fact);
}

core::Facts GravityChoices::varying(const Gravity& gravity, const Box& box) const {
  core::Facts facts;
  gravity.state(facts, box);
  const auto keep = [&](std::string_view name, bool varies) {
    if (!varies) facts.erase(facts.find(name));
  };
  keep(core::key_of("mesh_cell", box.side.unit), mesh.vary());
  keep("force_kernel", force_kernel ? force_kernel->vary() : mesh.vary());
  keep("integrator", integrator.vary());
  keep("steps", steps.vary());
  keep("z_initial", z_initial.vary());
  keep("radiation", false);
  keep("gradient_descent", descent.vary());
  return facts;
}

std::string GravityChoices::describe() const {
  std::string text =
      fmt::format("force mesh {}, {} steps from z = {}", mesh.text() + (mesh.vary() ? " per side" : "³"),
                  steps.text(), z_initial.text());
  if (force_kernel && force_kernel->vary()) text += ", forces by " + force_kernel->text();
  if (integrator.vary()) text += ", moved by " + integrator.text();
  if (descent.vary()) text += ", with " + fmt::format("{} kinds of descent", descent.values().size());
  return text;
}

}  // namespace cosmo::sim
