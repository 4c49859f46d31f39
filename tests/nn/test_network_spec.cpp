#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <tuple>
#include <variant>

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "nn/census.hpp"
#include "nn/zoo/zoo.hpp"
#include "tests/nn/networks.hpp"

using namespace cosmo;
using nn::AveragePool;
using nn::Convolution;
using nn::Dense;
using nn::Shape;

namespace {

std::string refusal(const nn::NetworkSpec& spec, Shape input, int outputs,
                    core::Fault fault = core::Fault::config) {
  try {
    nn::take_census(spec, input, outputs);
  } catch (const core::Error& error) {
    CHECK(error.fault() == fault);
    return error.what();
  }
  return "accepted";
}

/// As test::chain, of any length: `layers` layers of one kind and a dense one.
nn::NetworkSpec long_chain(int layers, const nn::Layer::Kind& kind) {
  nn::NetworkSpec spec{"n", "layer0", {}};
  for (int i = 0; i < layers; ++i)
    spec.layers.push_back({fmt::format("layer{}", i + 1), {fmt::format("layer{}", i)}, kind});
  spec.layers.push_back({"out", {fmt::format("layer{}", layers)}, Dense{3}});
  return spec;
}

void check_unreadable(const std::string& text) {
  INFO(text);
  try {
    nlohmann::json::parse(text).get<nn::NetworkSpec>();
    FAIL("accepted");
  } catch (const core::Error& error) {
    CHECK(error.fault() == core::Fault::format);
  }
}

}  // namespace

TEST_CASE("cosmoflow reproduces the 2018 paper's totals") {
  const nn::NetworkCensus census = nn::take_census(nn::find_network("cosmoflow"), {1, 128}, 3);
  CHECK(census.weights() == 7038128);  // 28.15 MB
  CHECK(census.parameters() == 7041443);
  CHECK(static_cast<double>(census.useful_flop()) * 1e-9 == Approx(62.168).margin(5e-4));
  CHECK(static_cast<double>(census.paper_flop()) * 1e-9 == Approx(69.33).margin(5e-3));
  CHECK(census.layers[0].output == Shape{16, 126});
  CHECK(census.layers[5].output == Shape{64, 13});
  CHECK(census.layers[9].output == Shape{256, 2});
  CHECK(census.layers[12].output == Shape{3, 1});
}

TEST_CASE("cosmoflow32 is small") {
  const nn::NetworkCensus census = nn::take_census(nn::find_network("cosmoflow32"), {1, 32}, 5);
  CHECK(census.weights() == 432 + 13824 + 32 * 32 + 5 * 32);
  CHECK(census.forward_flop() < 13'000'000);
  CHECK(census.layers[2].output == Shape{32, 1});
}

TEST_CASE("cosmoflow64 is the 2018 code's network for 64³ inputs") {
  const nn::NetworkCensus census = nn::take_census(nn::find_network("cosmoflow64"), {1, 64}, 3);
  CHECK(census.weights() == 27 * 16 + 64 * 16 * 32 + 64 * 32 * 64 + 27 * 64 * 64 + 8 * 64 * 128 +
                                8 * 128 * 128 + 1024 * 1024 + 1024 * 256 + 256 * 3);
  CHECK(census.layers[3].output == Shape{32, 14});
  CHECK(census.layers[7].output == Shape{128, 2});
}

TEST_CASE("mlperf has the benchmark's parameters and flops") {
  const nn::NetworkCensus census = nn::take_census(nn::find_network("mlperf"), {4, 128}, 4);
  CHECK(census.parameters() == 8907556);
  CHECK(static_cast<double>(census.useful_flop()) * 1e-9 == Approx(192.1).margin(0.05));
  CHECK(census.layers[0].output == Shape{32, 128});
  CHECK(census.layers[9].output == Shape{512, 4});
  CHECK(census.layers[15].output == Shape{4, 1});
}

TEST_CASE("the dropout of a network can be set") {
  const nn::NetworkSpec mlperf = nn::with_dropout(nn::find_network("mlperf"), 0.25);
  CHECK(std::get<nn::Dropout>(mlperf.layers[11].kind).probability == 0.25);
  CHECK(std::get<nn::Dropout>(mlperf.layers[13].kind).probability == 0.25);
  const nn::NetworkSpec cosmoflow = nn::find_network("cosmoflow");
  CHECK(nn::with_dropout(cosmoflow, 0) == cosmoflow);
  CHECK_THROWS_AS(nn::with_dropout(cosmoflow, 0.5), core::Error);
}

TEST_CASE("a description in the form of earlier model manifests reads as it did") {
  const auto spec = nlohmann::json::parse(R"({"name": "n", "input": "x", "layers": [
      {"name": "a", "inputs": ["x"], "kind": "convolution", "outputs": 4, "kernel": 3, "stride": 1, "padding": 1,
       "slope": 0.25},
      {"name": "b", "inputs": ["a"], "kind": "average_pool", "size": 2, "stride": 2},
      {"name": "c", "inputs": ["b"], "kind": "dense", "outputs": 0, "slope": 1.0}]})")
                        .get<nn::NetworkSpec>();
  CHECK(spec == nn::NetworkSpec{"n",
                                "x",
                                {{"a", {"x"}, Convolution{4, 3, 1, 1, 0.25}},
                                 {"b", {"a"}, AveragePool{2, 2}},
                                 {"c", {"b"}, Dense{0, 1.0}}}});
}

TEST_CASE("every kind of layer has a JSON form") {
  const nn::NetworkSpec spec{"n",
                             "x",
                             {{"a", {"x"}, Convolution{16, 3, 1, 1, 0.25, true}},
                              {"b", {"a"}, Convolution{16, 3, 1, 1, 0.25}},
                              {"sum", {"a", "b"}, nn::Add{0.5}},
                              {"join", {"sum", "a"}, nn::Concat{}},
                              {"up", {"join"}, nn::TransposedConvolution{8, 4, 2, 1, 0.125}},
                              {"nearest", {"up"}, nn::Resample{2}},
                              {"linear", {"up"}, nn::Resample{2, nn::Interpolation::linear}},
                              {"box", {"up"}, nn::Resample{2, nn::Interpolation::periodic}},
                              {"fine", {"nearest", "linear", "box"}, nn::Concat{}},
                              {"half", {"fine"}, AveragePool{2, 2}},
                              {"most", {"half"}, nn::MaxPool{2, 2}},
                              {"mean", {"most"}, nn::GlobalMean{true}},
                              {"normal", {"mean"}, nn::Normalise{}},
                              {"some", {"normal"}, nn::Dropout{0.5}},
                              {"out", {"some"}, Dense{0}},
                              {"soft", {"out"}, nn::Tanh{2}}}};
  std::set<std::size_t> kinds;
  for (const nn::Layer& layer : spec.layers) kinds.insert(layer.kind.index());
  CHECK(kinds.size() == std::variant_size_v<nn::Layer::Kind>);
  const nlohmann::json json = spec;
  CHECK(json["layers"][0]["padding"] == "periodic");
  CHECK(json["layers"][1]["padding"] == 1);
  CHECK(nlohmann::json::parse(json.dump()).get<nn::NetworkSpec>() == spec);
  const nn::NetworkCensus census = nn::take_census(spec, {1, 8}, 3);
  CHECK(census.layers[3].output == Shape{32, 8});
  const nn::LayerCensus& up = census.layers[4];
  CHECK(up.output == Shape{8, 16});
  CHECK((up.weights == 32 * 8 * 64 && up.biases == 8));
  CHECK((up.forward_flop == 2 * up.weights * 8 * 8 * 8 && up.input_grid_flop == up.forward_flop));
  CHECK(json["layers"][4]["kind"] == "transposed_convolution");
  for (const std::size_t i : {5u, 6u, 7u}) {
    CHECK(json["layers"][i]["kind"] == "resample");
    CHECK(census.layers[i].output == Shape{8, 32});
    CHECK((census.layers[i].weights == 0 && census.layers[i].forward_flop == 0));
  }
  CHECK(json["layers"][7]["interpolation"] == "periodic");
  CHECK(census.layers[11].output == Shape{48, 1});
  CHECK(census.statistics() == 96);
  CHECK(census.useful_flop() == 3 * census.forward_flop() - census.layers[0].forward_flop);
}

TEST_CASE("a layer's name can be a group's in a checkpoint") {
  nn::NetworkSpec spec{"n", "x", {{"a-1.b_2", {"x"}, Dense{3, 1.0}}}};
  CHECK(nn::take_census(spec, {1, 4}, 3).parameters() == 3 * 64 + 3);
  for (const char* name : {"", ".", "..", "a/weights", "./a", "a\n", "a b", "α"}) {
    spec.layers[0].name = name;
    INFO(name);
    CHECK_THROWS_AS(nn::take_census(spec, {1, 4}, 3), core::Error);
  }
}

TEST_CASE("cosmonet networks halve their volume to 2³ cells, and means of all levels are joined") {
  for (const auto& [name, levels, weights, mflop] : {std::tuple("cosmonet32", 4, 55'152, 279.6),
                                                     {"cosmonet64", 5, 114'544, 2'258.5},
                                                     {"cosmonet128", 6, 229'232, 18'105.3},
                                                     {"cosmonet256", 7, 343'920, 144'884.5},
                                                     {"cosmonet512", 8, 458'608, 1'159'117.5}}) {
    INFO(name);
    const auto entry = std::ranges::find(nn::networks(), std::string_view(name), &nn::NetworkEntry::name);
    const nn::NetworkCensus census = nn::take_census(entry->make(), {1, entry->size}, 3);
    const nn::LayerCensus& last_pool = census.layers[static_cast<std::size_t>(3 * levels - 2)];
    CHECK(last_pool.output.size == 2);
    CHECK(entry->size == 2 << levels);
    CHECK(census.weights() == weights);
    CHECK(static_cast<double>(census.useful_flop()) * 1e-6 == Approx(mflop).epsilon(1e-3));
  }
}

TEST_CASE("mlperf takes any size that its five pools leave cells of") {
  for (const auto& [size, cells] : {std::pair(32, 1), {48, 1}, {64, 2}, {200, 6}, {256, 8}, {512, 16}}) {
    const nn::NetworkCensus census = nn::take_census(nn::find_network("mlperf"), {4, size}, 4);
    CHECK(census.layers[9].output == nn::Shape{512, cells});
    CHECK(census.layers[10].weights == std::int64_t{128} * 512 * cells * cells * cells);
  }
  CHECK_THROWS_AS(nn::take_census(nn::find_network("mlperf"), {4, 31}, 4), core::Error);
}

TEST_CASE("networks take any number of channels and outputs") {
  for (const nn::NetworkEntry& entry : nn::networks()) {
    const int size = std::max(128, entry.size);
    const nn::NetworkCensus one = nn::take_census(entry.make(), {1, size}, 1);
    const nn::NetworkCensus four = nn::take_census(entry.make(), {4, size}, 2);
    CHECK(entry.make().name == entry.name);
    CHECK(four.layers[0].weights == 4 * one.layers[0].weights);
    CHECK(four.layers.back().output.channels == 2);
    CHECK(four.parameters() > one.parameters());
  }
}

TEST_CASE("a network's JSON form holds it exactly") {
  for (const nn::NetworkEntry& entry : nn::networks()) {
    const nn::NetworkSpec spec = entry.make();
    const std::string text = nlohmann::json(spec).dump();
    CHECK(nlohmann::json::parse(text).get<nn::NetworkSpec>() == spec);
  }
}

TEST_CASE("JSON that is not a network is refused") {
  check_unreadable(R"([])");
  check_unreadable(R"({"name":"n","input":"x"})");
  check_unreadable(R"({"name":"n","input":"x","layers":{}})");
  check_unreadable(R"({"name":"n","input":"x","layers":[3]})");
  check_unreadable(R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"lstm"}]})");
  check_unreadable(R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"dropout"}]})");
  check_unreadable(
      R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"tanh","scale":1,"slope":1}]})");
  check_unreadable(
      R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"max_pool","size":2}]})");
  check_unreadable(
      R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"dense","outputs":3}]})");
  check_unreadable(
      R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"dense","outputs":2.5,"slope":1}]})");
  check_unreadable(
      R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"dense","outputs":"3","slope":1}]})");
  check_unreadable(
      R"({"name":"n","input":"x","layers":[{"name":"a","inputs":["x"],"kind":"dense","outputs":3,"slope":1,"size":2}]})");
}

TEST_CASE("an unknown interpolation is refused by name") {
  const auto json = nlohmann::json::parse(R"({"name": "n", "input": "x", "layers": [
      {"name": "a", "inputs": ["x"], "kind": "resample", "factor": 2, "interpolation": "cubic"}]})");
  try {
    (void)json.get<nn::NetworkSpec>();
    FAIL("accepted");
  } catch (const core::Error& error) {
    CHECK(error.fault() == core::Fault::format);
    CHECK(std::string(error.what()) ==
          "Layer a has the interpolation \"cubic\": use nearest, linear or periodic.");
  }
}

TEST_CASE("layers of more flop than can be counted are refused") {
  using Catch::Contains;
  const auto of = [](const nn::Layer::Kind& kind) {
    return refusal(test::chain("n", {kind, Dense{3}}), {1000, 128}, 3);
  };
  CHECK_THAT(of(Convolution{2147483647, 128}),
             Contains("Layer a would take 9.01e+18 flop per sample: give fewer"));
  CHECK_THAT(of(Dense{2147483647}), Contains("Layer a would take 9.01e+18 flop per sample: give fewer"));
  CHECK_THAT(of(Convolution{1 << 30, 1, 128}), Contains("flop per sample"));  // over the input's cells
  // Each layer has few enough.
  CHECK_THAT(refusal(long_chain(100, Convolution{1 << 20, 1}), {1 << 20, 8}, 3),
             Contains("Network n would take"));
}

TEST_CASE("shapes that cannot be counted are refused") {
  using Catch::Contains;
  const auto of = [](const nn::Layer::Kind& kind, Shape input = {1, 8}) {
    return refusal(test::chain("n", {kind, Dense{3}}), input, 3);
  };
  CHECK_THAT(of(Convolution{1, 2147483647, 1, 2000000000}), Contains("values of a sample"));
  CHECK_THAT(of(Convolution{1, 2147483647, 1, 1000000000}), Contains("needs at least 147483647 cells"));
  CHECK_THAT(of(nn::GlobalMean{true}, {1 << 30, 1}), Contains("Layer a would make 2.15e+09 values"));
  CHECK_THAT(of(Dense{3}, {1, 2147483647}), Contains("needs an input"));
  nn::NetworkSpec doubled{"n", "t0", {}};
  for (int i = 0; i < 40; ++i) {
    const std::string tensor = fmt::format("t{}", i);
    doubled.layers.push_back({fmt::format("t{}", i + 1), {tensor, tensor}, nn::Concat{}});
  }
  doubled.layers.push_back({"out", {"t40"}, Dense{3}});
  CHECK_THAT(refusal(doubled, {1, 8}, 3), Contains("Layer t31 would make"));
  CHECK_THAT(refusal(long_chain(10'000, nn::Tanh{1}), {1, 8}, 3),
             Contains("has 10001 layers, but 10000 is the limit"));
}

TEST_CASE("layers that make more cells are refused in a sentence if they cannot work") {
  using Catch::Contains;
  using nn::Resample;
  using Transposed = nn::TransposedConvolution;
  const auto of = [](const nn::Layer::Kind& kind, Shape input = {1, 8}) {
    return refusal(test::chain("n", {kind, Dense{3}}), input, 3);
  };
  CHECK_THAT(of(Resample{1}), Contains("Layer a has factor 1: it must be at least 2."));
  CHECK_THAT(of(Resample{-2}), Contains("factor -2"));
  CHECK_THAT(of(Resample{257}), Contains("2056 cells per side") && Contains("2048") && Contains("smaller"));
  CHECK_THAT(of(Resample{2147483647}), Contains("17179869176 cells per side"));
  CHECK_THAT(of(Transposed{4, 2, 0}), Contains("stride 0"));
  CHECK_THAT(of(Transposed{4, 0, 1}), Contains("window 0"));
  CHECK_THAT(of(Transposed{4, 3, 1, 3}), Contains("padding 3"));
  CHECK_THAT(of(Transposed{4, 3, 1, -1}), Contains("padding -1"));
  CHECK_THAT(of(Transposed{0, 2, 2}), Contains("at least one output"));
  CHECK_THAT(of(Transposed{4, 2, 2, 0, -0.5}), Contains("a slope that is not negative"));
  CHECK_THAT(of(Transposed{4, 3, 1, 1}, {1, 2}), Contains("Layer a has a kernel of 3³ cells") &&
                                                     Contains("2 per side") && Contains("less padding"));
  CHECK_THAT(of(Transposed{4, 3, 1, 2}, {1, 1}), Contains("-1 per side"));
  CHECK_THAT(of(Transposed{100, 1900, 1}, {100000, 8}),
             Contains("Layer a would take 7.02e+19 flop per sample"));
  CHECK_THAT(of(Transposed{200, 2, 290}), Contains("Layer a would make 1.68e+12 values of a sample"));
  CHECK_THAT(of(Resample{200}, {300, 8}), Contains("Layer a would make 1.23e+12 values of a sample"));
  CHECK_THAT(of(Transposed{4, 2, 400}), Contains("2802 cells per side"));
  CHECK_THAT(of(Transposed{4, 2000000000, 2000000000}), Contains("16000000000 cells per side"));
  CHECK_THAT(refusal(test::chain("n", {Dense{4}, Transposed{4, 2, 2}, Dense{3}}), {1, 8}, 3),
             Contains("Layer b reads a, a vector"));
  CHECK_THAT(refusal(test::chain("n", {Dense{4}, Resample{2}, Dense{3}}), {1, 8}, 3),
             Contains("Layer b reads a, a vector"));
  CHECK_THAT(refusal({"n",
                      "x",
                      {{"a", {"x"}, Convolution{4, 3}},
                       {"pool", {"a"}, AveragePool{4, 4}},
                       {"up", {"pool"}, Resample{4}},
                       {"join", {"a", "up"}, nn::Concat{}},
                       {"out", {"join"}, Dense{3}}}},
                     {1, 8}, 3),
             Contains("Layer join joins") && Contains("6³ and 4³"));
}

TEST_CASE("networks that cannot work are refused in a sentence") {
  using Catch::Contains;
  CHECK_THAT(refusal(nn::find_network("cosmoflow"), {1, 32}, 3),
             Contains("Layer conv4 needs at least 3 cells"));
  CHECK_THAT(refusal(nn::find_network("cosmoflow"), {1, 128}, 0), Contains("at least one output"));
  CHECK_THAT(refusal({"n", "x", {}}, {1, 8}, 1), Contains("no layers"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, nn::Tanh{1}}}}, {1, 8}, 1), Contains("no layers"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, Dense{3}}, {"b", {"a"}, nn::Dropout{0.5}}}}, {1, 8}, 3),
             Contains("not dense"));
  const auto starting_with = [](const nn::Layer::Kind& kind) {
    return nn::NetworkSpec{"n", "x", {{"a", {"x"}, kind}, {"b", {"a"}, Dense{3}}}};
  };
  CHECK_THAT(refusal(starting_with(nn::Dropout{1}), {1, 8}, 3), Contains("probability 1"));
  CHECK_THAT(refusal(starting_with(nn::Dropout{-0.5}), {1, 8}, 3), Contains("--dropout"));
  CHECK_THAT(refusal(starting_with(nn::Tanh{0}), {1, 8}, 3), Contains("scale 0"));
  CHECK_THAT(refusal(starting_with(nn::MaxPool{9, 2}), {1, 8}, 3), Contains("at least 9 cells"));
  CHECK_THAT(refusal(starting_with(nn::MaxPool{2, 0}), {1, 8}, 3), Contains("stride 0"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, nn::MaxPool{2, 2}}}}, {1, 8}, 1), Contains("not dense"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, Dense{3}}}}, {1, 8}, 2),
             Contains("has 3 outputs, but 2 are needed: give its last layer 0"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"y"}, Dense{3}}}}, {1, 8}, 3), Contains("reads y"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x", "x"}, Dense{3}}}}, {1, 8}, 3), Contains("2 inputs"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, Dense{3}}, {"a", {"a"}, Dense{3}}}}, {1, 8}, 3),
             Contains("called a"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, Dense{3}}, {"b", {"x"}, Dense{3}}}}, {1, 8}, 3),
             Contains("No layer") && Contains("reads a"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"b"}, Dense{3}}, {"b", {"a"}, Dense{3}}}}, {1, 8}, 3),
             Contains("reads b") && Contains("no cycles"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"a"}, Dense{3}}}}, {1, 8}, 3),
             Contains("reads a") && Contains("no cycles"));
  const auto joining = [](const nn::Layer::Kind& first, const nn::Layer::Kind& join) {
    return nn::NetworkSpec{"n", "x", {{"a", {"x"}, first}, {"b", {"a", "x"}, join}, {"c", {"b"}, Dense{3}}}};
  };
  CHECK_THAT(refusal(joining(Convolution{4, 3}, nn::Add{}), {1, 8}, 3),
             Contains("4 channels of 6³") && Contains("1 of 8³"));
  CHECK_THAT(refusal(joining(Convolution{4, 3}, nn::Concat{}), {1, 8}, 3), Contains("6³ and 8³"));
  CHECK_THAT(refusal(starting_with(nn::Add{}), {1, 8}, 3), Contains("1 inputs") && Contains("two or more"));
  CHECK_THAT(refusal(test::chain("n", {Dense{4}, Convolution{4, 1}, Dense{3}}), {1, 8}, 3),
             Contains("Layer b reads a, a vector"));
  CHECK_THAT(refusal({"n",
                      "x",
                      {{"a", {"x"}, Convolution{4, 8}},
                       {"b", {"x"}, Dense{4}},
                       {"c", {"a", "b"}, nn::Add{}},
                       {"d", {"c"}, Dense{3}}}},
                     {1, 8}, 3),
             Contains("Layer c adds vectors and tensors"));
  CHECK_THAT(refusal(starting_with(nn::Normalise{}), {1, 8}, 3), Contains("normalises x, which has cells"));
  CHECK_THAT(refusal(starting_with(Convolution{4, 4, 1, 1, 1, true}), {1, 8}, 3), Contains("odd kernel"));
  CHECK_THAT(refusal(starting_with(Convolution{4, 7, 1, 3, 1, true}), {1, 2}, 3), Contains("periodic"));
  CHECK_THAT(
      refusal(test::chain("n", {nn::GlobalMean{}, nn::Normalise{}, Dense{4}, nn::Normalise{}, Dense{3}}),
              {1, 8}, 3),
      Contains("two normalisations, b and d"));
  CHECK_THAT(refusal({"n",
                      "x",
                      {{"a", {"x"}, nn::GlobalMean{}},
                       {"b", {"a"}, nn::Normalise{}},
                       {"c", {"b", "a"}, nn::Concat{}},
                       {"d", {"c"}, Dense{3}}}},
                     {1, 8}, 3),
             Contains("Layer c") && Contains("reads a") && Contains("before the normalisation b"));
  CHECK_THAT(refusal({"n", "x", {{"a", {"x"}, Convolution{4, 3, 0}}, {"b", {"a"}, Dense{3}}}}, {1, 8}, 3),
             Contains("stride 0"));
  CHECK_THROWS_AS(nn::find_network("resnet"), core::Error);
}
