// Which convolutions of a network can be filtered, and the names of their phases.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "core/format/json.hpp"
#include "nn/census.hpp"
#include "nn/filtered_phases.hpp"
#include "nn/phase.hpp"
#include "tests/support/expect_error.hpp"

using namespace cosmo;

TEST_CASE("a network is refused if none of its convolutions can be filtered") {
  const auto with = [](const nn::Convolution& second) {
    return nn::NetworkSpec{"small",
                           "voxels",
                           {{"first", {"voxels"}, nn::Convolution{16, 3, 1, 0, 0}},
                            {"second", {"first"}, second},
                            {"dense", {"second"}, nn::Dense{3}}}};
  };
  const auto choose = [](const nn::NetworkSpec& spec, int size, nn::ConvolutionMethod method) {
    return nn::choose_filtered(spec, nn::take_census(spec, {1, size}, 3), 1, method);
  };
  using enum nn::ConvolutionMethod;
  const auto refuse = [&](const nn::NetworkSpec& spec, const std::string& part) {
    INFO(part);
    expect_error(core::Fault::config, part, [&] { choose(spec, 17, filtered); });
    CHECK(choose(spec, 17, automatic).empty());
  };
  refuse({"flat", "voxels", {{"dense", {"voxels"}, nn::Dense{3}}}}, "Network flat");
  refuse({"lone",
          "voxels",
          {{"one", {"voxels"}, nn::Convolution{16, 3, 1, 0, 0}}, {"dense", {"one"}, nn::Dense{3}}}},
         "Network lone cannot be filtered (one reads the network's input)");
  refuse(with({16, 3, 2, 0, 0}), "second has stride 2");
  refuse(with({16, 5, 1, 0, 0}), "second has a kernel of 5³");
  refuse(with({24, 3, 1, 0, 0}), "second has 16 to 24 channels");

  const nn::NetworkSpec good = with({16, 3, 1, 0, 0});
  const std::set<nn::Phase> all = {nn::Phase::forward, nn::Phase::weight_gradient, nn::Phase::input_gradient};
  CHECK(choose(good, 6, filtered) == nn::FilteredPhases{{"second", all}});
  CHECK(choose(good, 6, automatic).empty());
  CHECK(choose(good, 34, automatic) == nn::FilteredPhases{{"second", all}});
  CHECK(choose(good, 34, direct).empty());
}

TEST_CASE("phases to filter of a layer that cannot be filtered are refused") {
  const nn::NetworkSpec spec{"two",
                             "voxels",
                             {{"first", {"voxels"}, nn::Convolution{16, 3, 1, 0, 0}},
                              {"second", {"first"}, nn::Convolution{16, 3, 1, 0, 0}},
                              {"dense", {"second"}, nn::Dense{3}}}};
  const auto check = [&](const char* layer) {  // of 16 channels, which would suit the kernels
    nn::ensure_filterable({{layer, {nn::Phase::forward}}}, spec, nn::take_census(spec, {16, 9}, 3), "FILE");
  };
  CHECK_NOTHROW(check("second"));
  expect_error(core::Fault::format,
               "FILE names phases to filter of layer 'first', which reads the network's input",
               [&] { check("first"); });
  expect_error(core::Fault::format, "layer 'dense', which is not a convolution", [&] { check("dense"); });
}

TEST_CASE("filtered phases are written and read") {
  const nn::FilteredPhases filtered = {{"conv2", {nn::Phase::forward, nn::Phase::input_gradient}},
                                       {"conv3", {nn::Phase::weight_gradient}}};
  const core::Json json = {{"conv2", {"forward", "input gradient"}}, {"conv3", {"weight gradient"}}};
  CHECK(nn::to_json(filtered) == json);
  CHECK(nn::parse_filtered_phases(json) == filtered);
  CHECK(nn::to_json({}) == core::Json::object());
  for (const core::Json& damaged :
       {core::Json(), core::Json::array(), core::Json::object(), core::Json("conv2")})
    expect_error(core::Fault::format, "are not an object", [&] { nn::parse_filtered_phases(damaged); });
  expect_error(core::Fault::format, "phase 'backward'", [&] {
    nn::parse_filtered_phases({{"conv2", {"backward"}}});
  });
}
