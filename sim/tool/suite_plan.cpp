#include "sim/tool/suite_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/machine/memory.hpp"
#include "sim/plan/box.hpp"
#include "sim/plan/gravity.hpp"
#include "sim/plan/outputs.hpp"
#include "sim/plan/start.hpp"

namespace cosmo::sim {

namespace {

/// Memory that a thread takes: its stack, and its lines and keys of the mesh. With 66 and 258 threads on meshes of 64
/// to 256 cells per side, the whole process is measured to have 90 to 100 % of what is predicted with glibc 2.36, and
/// 76 to 93 % with 2.41, whose heaps have fewer gaps. [bytes]
std::uint64_t thread_memory(int mesh_per_side) {
  const auto side = static_cast<std::uint64_t>(mesh_per_side);
  return (64 << 10) + 8 * side * side;
}

core::SimulationRecord record_of(const Plan& plan, std::size_t index) {
  core::SimulationRecord record{static_cast<std::uint32_t>(index), plan.universes.list[index], {}, {}};
  for (const double z : plan.config.outputs.redshifts) record.outputs.push_back({z, {}, {}});
  plan.products.name_files(record);
  if (plan.gravity.vary()) record.settings = plan.gravity.varying(plan.drawn.of(index), plan.config.box);
  return record;
}

/// Universes whose settings differ in what takes memory, one of each kind.
std::vector<Gravity> kinds_of(const DrawnGravity& drawn) {
  std::map<std::tuple<int, std::string, std::string>, Gravity> kinds;
  for (const Gravity& gravity : drawn.list)
    kinds.try_emplace({gravity.mesh_per_side, gravity.force_kernel, gravity.integrator}, gravity);
  std::vector<Gravity> list;
  for (const auto& [key, gravity] : kinds) list.push_back(gravity);
  return list;
}

/// Throws Error{config} naming the nearest slice of whole packs unless this is one.
void check_slice(const core::Slice& slice, int universes, int pack) {
  if (pack == 0 || slice.is_everything()) return;
  const auto nearest = [&](std::int64_t i, std::int64_t low, std::int64_t high) {
    const std::int64_t below = i / pack * pack, above = std::min<std::int64_t>(below + pack, universes);
    return std::clamp(2 * (i - below) < above - below ? below : above, low, high);
  };
  const std::int64_t last_pack = (universes - 1) / pack * pack;
  const std::int64_t first = nearest(slice.first, 0, last_pack),
                     last = nearest(slice.last, std::min<std::int64_t>(first + pack, universes), universes);
  core::ensure(slice.first == first && slice.last == last, core::Fault::config,
               "--select {}:{} cuts packs of --pack {}: the nearest slice of whole packs is {}:{}.",
               slice.first, slice.last, pack, first, last);
}

}  // namespace

std::string Plan::describe() const {
  std::string text = fmt::format("{} of {}, {}; {}: {}\n", universes.describe(), config.box.describe(),
                                 gravity.describe(), config.outputs.describe(), products.describe());
  for (const auto& [settings, times] : drawn.redrawn)
    text +=
        fmt::format("{} cannot be and was drawn again, {} time{}\n", settings, times, times == 1 ? "" : "s");
  if (!growth.directory.empty())
    text += fmt::format("the first {} are those of {}\n", growth.linked(), growth.directory.string());
  if (!growth.widened.empty()) text += fmt::format("ranges that are wider now: {}\n", growth.widened);
  return text;
}

SimulationConfig Plan::config_of(std::size_t universe) const {
  SimulationConfig own = config;
  own.gravity = drawn.of(universe);
  return own;
}

void Plan::warn(const core::Log& log) const {
  gravity.warn(log, config.box, universes, drawn, config.start.f_nl == 0);
  products.warn(log, config, universes.base);
}

void declare_suite(core::Options& options) {
  Universes::declare(options);
  Box::declare(options);
  GravityChoices::declare(options);
  Start::declare(options);
  Outputs::declare(options);
  Products::declare(options);
  declare_growth(options);
}

Plan read_plan(const core::Options& options) {
  Plan plan;
  SimulationConfig& config = plan.config;
  plan.universes = Universes::read(options);
  config.box = Box::read(options, plan.universes);
  plan.gravity = GravityChoices::read(options, config.box);
  config.start = Start::read(options, plan.universes, config.box);
  config.outputs = Outputs::read(options);
  core::ensure(
      plan.universes.twins == 1 || plan.gravity.vary(), core::Fault::config,
      "--twins {} makes universes that differ in settings, and none varies: give --steps, --mesh or another a "
      "list, or a range LOW:HIGH.",
      plan.universes.twins);
  config.outputs.check(std::ranges::min(plan.gravity.z_initial.values()), config.box);
  plan.drawn =
      plan.gravity.draw(plan.universes, config.box, {config.start.lpt_order, config.outputs.redshifts});
  config.gravity = plan.drawn.list.front();
  if (plan.gravity.vary()) plan.universes.seed = plan.universes.seed_of_settings;
  plan.products = Products::read(options, config.box);
  config.contents = plan.products.contents();
  if (config.outputs.tracers < 1) {
    core::ensure(
        plan.products.has("counts"), core::Fault::config,
        "--tracers is the share of the particles that are counted: add counts to --save, or leave it out.");
    config.contents.ids = true;
  }
  if (!plan.products.has("web")) {
    core::ensure(!options.chosen("web"), core::Fault::config,
                 "--web defines the classes of --save web: add web to --save, or leave it out.");
    config.outputs.web.reset();
  }
  check_slice(plan.universes.slice, plan.universes.size(), plan.products.pack);
  plan.growth = read_growth(options, plan);
  if (config.start.noise) plan.universes.list.front().seed = config.start.noise->seed();
  return plan;
}

core::Request request_of(const Plan& plan) {
  core::Json config = {{"method", kMethod}};
  plan.universes.identify(config);
  plan.config.box.identify(config);
  plan.gravity.identify(config, plan.drawn);
  plan.config.start.identify(config);
  plan.config.outputs.identify(config);
  plan.products.identify(config);
  return {"generate", config, {}};
}

core::SimulationManifest suite_of(const Plan& plan) {
  core::SimulationManifest suite{{}, plan.universes.varying, plan.config.box.side, plan.products.voxels, {}};
  suite.line_of_sight = plan.config.outputs.line_of_sight;
  suite.twins = plan.universes.twins;
  suite.pack = plan.products.pack;
  plan.universes.state(suite.facts);
  plan.config.box.state(suite.facts);
  plan.gravity.state(suite.facts, plan.config.box, plan.drawn);
  plan.config.start.state(suite.facts);
  plan.config.outputs.state(suite.facts, plan.config.box);
  for (std::size_t i = 0; i < plan.universes.list.size(); ++i)
    suite.simulations.push_back(record_of(plan, i));
  return suite;
}

std::uint64_t memory_of(const Plan& plan, int ranks, int threads) {
  const core::Universe& densest = *std::ranges::max_element(
      plan.universes.list, {}, [](const core::Universe& universe) { return universe.cosmology.sigma8; });
  std::uint64_t most = 0;
  SimulationConfig config = plan.config;
  for (const Gravity& gravity : kinds_of(plan.drawn)) {
    config.gravity = gravity;
    validate(config, plan.universes.base, ranks);
    most = std::max(most, predicted_memory_bytes(config, densest.cosmology, ranks,
                                                 plan.products.memory_bytes(config, ranks, threads)) +
                              static_cast<std::uint64_t>(threads) * thread_memory(gravity.mesh_per_side));
  }
  // In the manifest while that is written: measured for 1000 to 3000 universes, and for 100,000 in packs.
  const std::uint64_t of_universe = plan.products.pack > 0 ? 200 : 14'000;
  return core::kLibraryMemory + most + of_universe * plan.universes.list.size();
}

double cost_of(const Plan& plan, const core::SimulationRecord& universe) {
  const Box& box = plan.config.box;
  const Gravity common{.mesh_per_side = box.particles_per_side};
  return relative_cost(box, plan.drawn.of(universe.index)) / relative_cost(box, common);
}

std::uint64_t disk_of(const Plan& plan, std::span<const core::SimulationRecord> universes) {
  SimulationConfig config = plan.config;
  std::uint64_t sum = 0;
  for (const core::SimulationRecord& record : universes) {
    if (plan.growth.has(record)) continue;  // links take none
    config.gravity = plan.drawn.of(record.index);
    sum += plan.products.disk_bytes(config);
  }
  return sum;
}

}  // namespace cosmo::sim
