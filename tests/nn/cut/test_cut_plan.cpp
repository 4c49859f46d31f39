#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "nn/cut/cut_plan.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;
using core::Slab;
using nn::CutPlan;

namespace {

constexpr int kOutputs = 3;

CutPlan plan_of(const nn::NetworkSpec& named, nn::Shape input, int ranks) {
  const nn::NetworkSpec spec = nn::with_outputs(named, kOutputs);
  return {spec, nn::take_census(spec, input, kOutputs), input, ranks};
}

CutPlan plan_of(const char* name, nn::Shape input, int ranks) {
  return plan_of(nn::find_network(name), input, ranks);
}

}  // namespace

TEST_CASE("cosmoflow on two ranks is cut to its last convolution") {
  const CutPlan plan = plan_of("cosmoflow", {1, 128}, 2);
  // 31 and 32 planes of the pool are 62 and 64 of the convolution, which see two more.
  CHECK(plan.inputs().at(0) == Slab{0, 64});
  CHECK(plan.inputs().at(1) == Slab{62, 128});
  CHECK_FALSE(plan.fetch(0, 0));
  CHECK_FALSE(plan.fetch(1, 0));  // the pool's windows are whole
  const auto conv2 = plan.fetch(2, 0);
  REQUIRE(conv2);
  CHECK(conv2->owned == std::vector<Slab>{{0, 31}, {31, 63}});
  CHECK(conv2->seen == std::vector<Slab>{{0, 33}, {30, 63}});
  CHECK_FALSE(conv2->whole);
  // Rank 0 receives two planes and the gradient of one, rank 1 one plane and the gradient of two.
  CHECK(plan.received(2, 0) == 3 * 16 * 63 * 63 * 4);
  CHECK(plan.received(2, 1) == 3 * 16 * 63 * 63 * 4);
  CHECK(plan.is_cut(9));
  const auto dense1 = plan.fetch(10, 0);
  REQUIRE(dense1);
  CHECK(dense1->whole);
  CHECK(dense1->seen == std::vector<Slab>{{0, 2}, {0, 2}});
  CHECK_FALSE(plan.is_cut(10));
  CHECK_FALSE(plan.fetch(11, 0));
  CHECK(plan.describe().find("conv2             60  30               13.8 MB  762.0 kB") !=
        std::string::npos);
  const auto json = plan.to_json();
  REQUIRE(json.size() == 13);
  CHECK(json[2] == core::Json{{"layer", "conv2"},
                              {"planes", 60},
                              {"least_planes_of_rank", 30},
                              {"most_planes_of_rank", 30},
                              {"value_bytes", 32 * 30 * 60 * 60 * 4},
                              {"fetch_bytes", 762048}});
}

TEST_CASE("cuts are between the tiles of minimal filtering and the windows of pools") {
  // 27 outputs in tiles of 3, of which windows of 2 make 13.
  const CutPlan plan = plan_of("cosmoflow", {1, 128}, 3);
  const auto conv4 = plan.fetch(6, 0);
  REQUIRE(conv4);
  CHECK(conv4->owned == std::vector<Slab>{{0, 3}, {3, 9}, {9, 13}});
  const auto conv3 = plan.fetch(4, 0);
  REQUIRE(conv3);
  CHECK(conv3->seen == std::vector<Slab>{{0, 9}, {6, 21}, {18, 30}});
}

TEST_CASE("planes outside of a tensor are those of the opposite face, or zeros, which are not sent") {
  const CutPlan periodic = plan_of("cosmonet32", {1, 32}, 4);
  CHECK(periodic.inputs().at(0) == Slab{-1, 9});
  CHECK(periodic.periodic_input());
  const auto conv2 = periodic.fetch(3, 0);
  REQUIRE(conv2);
  CHECK(conv2->seen.front() == Slab{-1, 5});
  const std::vector<nn::Transfer> planes = nn::transfers_of(*conv2);
  REQUIRE(planes.size() == 12);
  CHECK((planes[0].from == 3 && planes[0].to == 0 && planes[0].source == 3 && planes[0].target == 0));
  CHECK((planes[1].from == 0 && planes[1].to == 0 && planes[1].target == 1 && planes[1].count == 4));
  CHECK_FALSE(periodic.fetch(2, 0));  // a global mean adds what ranks have

  const CutPlan zeros = plan_of("mlperf", {4, 128}, 2);
  CHECK(zeros.inputs().at(0) == Slab{-1, 65});
  CHECK_FALSE(zeros.periodic_input());
  const auto padded = zeros.fetch(2, 0);
  REQUIRE(padded);
  CHECK(padded->seen.front() == Slab{-1, 33});
  CHECK(nn::transfers_of(*padded).size() == 4);
}

TEST_CASE("layers that make cells finer are cut where their outputs are") {
  const CutPlan plan = plan_of("reconet", {1, 32}, 2);
  CHECK(plan.cuts_output());
  CHECK(plan.output(1) == Slab{16, 32});
  int larger = 0;
  for (int layer = 0; layer < 30; ++layer) {
    if (plan.to_json().at(static_cast<std::size_t>(layer)).at("layer") != "larger1") continue;
    larger = layer;
    break;
  }
  // The convolution that reads them beside others sees planes around its own, which are made, not fetched.
  CHECK(plan.made(larger, 0) == Slab{-1, 17});
  CHECK(plan.made(larger + 1, 0) == Slab{-1, 17});
  CHECK_FALSE(plan.fetch(larger + 1, 1));
  CHECK_FALSE(plan.fetch(larger + 2, 0));
  CHECK(plan.fetch(larger + 1, 0)->periodic);
  CHECK(plan.seen(larger, 0) == Slab{-1, 9});  // between the centres of two cells lie the new ones
  CHECK(plan.fetch(larger, 0)->periodic);

  using namespace nn;
  const NetworkSpec spec = {"finer",
                            "voxels",
                            {{"a", {"voxels"}, Convolution{16, 3, 1, 1}},
                             {"transposed", {"a"}, TransposedConvolution{16, 4, 2, 1}},
                             {"linear", {"a"}, Resample{3, Interpolation::linear}},
                             {"nearest", {"a"}, Resample{3, Interpolation::nearest}},
                             {"field", {"linear", "nearest"}, Concat{}},
                             {"mean", {"field"}, GlobalMean{}},
                             {"mean2", {"transposed"}, GlobalMean{}},
                             {"join", {"mean", "mean2"}, Concat{}},
                             {"dense", {"join"}, Dense{0}}}};
  const CutPlan finer = plan_of(spec, {1, 8}, 2);
  CHECK_FALSE(finer.cuts_output());
  CHECK(finer.made(1, 0) == Slab{0, 8});
  CHECK(finer.seen(1, 0) == Slab{0, 5});
  CHECK(finer.seen(2, 1) == Slab{3, 8});
  CHECK(finer.seen(3, 1) == Slab{4, 8});
  CHECK_FALSE(finer.fetch(3, 0));
}

TEST_CASE("what cannot be cut is refused with a sentence") {
  using core::Fault;
  expect_error(Fault::config,
               "--ranks-per-sample 16 is more than the 15 planes of layer conv1: give at most that many", [] {
                 plan_of("cosmoflow32", {1, 32}, 16);
               });
  using namespace nn;
  expect_error(Fault::config, "Layer dense of network flat reads the whole sample", [] {
    plan_of(NetworkSpec{"flat", "voxels", {{"dense", {"voxels"}, Dense{0}}}}, {1, 8}, 2);
  });
  expect_error(Fault::config, "Layers a and b of network two both read the sample", [] {
    plan_of(NetworkSpec{"two",
                        "voxels",
                        {{"a", {"voxels"}, Convolution{16, 3}},
                         {"b", {"voxels"}, Convolution{16, 3}},
                         {"add", {"a", "b"}, Add{}},
                         {"dense", {"add"}, Dense{0}}}},
            {1, 8}, 2);
  });
}
