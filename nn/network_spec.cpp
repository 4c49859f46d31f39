#include "nn/network_spec.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "core/named.hpp"

namespace cosmo::nn {

using core::ensure;
using core::Fault;
using nlohmann::json;

namespace {

using NamedInterpolation = core::Named<Interpolation>;

template <class T>
constexpr std::string_view kTypeOf = "a whole number";
template <>
constexpr std::string_view kTypeOf<double> = "a number";
template <>
constexpr std::string_view kTypeOf<bool> = "true or false";
template <>
constexpr std::string_view kTypeOf<std::string> = "text in quotes";
template <>
constexpr std::string_view kTypeOf<std::vector<std::string>> = "a list of texts";

/// `expected`: what the member may be.
template <class T>
T member(const json& object, const std::string& key, std::string_view expected = kTypeOf<T>) {
  ensure(object.contains(key), Fault::format, "The network's description lacks \"{}\" in {}.", key,
         object.dump());
  try {
    const T value = object.at(key).get<T>();
    if (json(value) == object.at(key)) return value;  // a fraction is not accepted as an integer
  } catch (const json::exception&) {
  }
  core::fail(Fault::format, "The network's description has the wrong type for \"{}\" in {}: give {}.", key,
             object.dump(), expected);
}

void ensure_only(const json& object, const std::vector<std::string_view>& keys) {
  ensure(object.is_object(), Fault::format, "The network's description has {} where an object is expected.",
         object.dump());
  for (const auto& item : object.items()) {
    ensure(std::find(keys.begin(), keys.end(), item.key()) != keys.end(), Fault::format,
           "The network's description has an unknown member \"{}\" in {}.", item.key(), object.dump());
  }
}

void write(json& object, const Convolution& layer) {
  object.update({{"kind", "convolution"},
                 {"outputs", layer.outputs},
                 {"kernel", layer.kernel},
                 {"stride", layer.stride},
                 {"padding", layer.periodic ? json("periodic") : json(layer.padding)},
                 {"slope", layer.slope}});
}

void write(json& object, const TransposedConvolution& layer) {
  object.update({{"kind", "transposed_convolution"},
                 {"outputs", layer.outputs},
                 {"kernel", layer.kernel},
                 {"stride", layer.stride},
                 {"padding", layer.padding},
                 {"slope", layer.slope}});
}

void write(json& object, const Resample& layer) {
  const auto* row = std::ranges::find(kInterpolations, layer.interpolation, &NamedInterpolation::value);
  object.update({{"kind", "resample"}, {"factor", layer.factor}, {"interpolation", row->name}});
}

void write(json& object, const AveragePool& layer) {
  object.update({{"kind", "average_pool"}, {"size", layer.size}, {"stride", layer.stride}});
}

void write(json& object, const MaxPool& layer) {
  object.update({{"kind", "max_pool"}, {"size", layer.size}, {"stride", layer.stride}});
}

void write(json& object, const Dense& layer) {
  object.update({{"kind", "dense"}, {"outputs", layer.outputs}, {"slope", layer.slope}});
}

void write(json& object, const Dropout& layer) {
  object.update({{"kind", "dropout"}, {"probability", layer.probability}});
}

void write(json& object, const Tanh& layer) { object.update({{"kind", "tanh"}, {"scale", layer.scale}}); }

void write(json& object, const Add& layer) { object.update({{"kind", "add"}, {"slope", layer.slope}}); }

void write(json& object, const Concat&) { object["kind"] = "concat"; }

void write(json& object, const GlobalMean& layer) {
  object.update({{"kind", "global_mean"}, {"squares", layer.squares}});
}

void write(json& object, const Normalise&) { object["kind"] = "normalise"; }

Convolution read_convolution(const json& object) {
  Convolution layer{member<int>(object, "outputs"), member<int>(object, "kernel"),
                    member<int>(object, "stride")};
  layer.periodic = object.contains("padding") && object["padding"] == "periodic";
  layer.padding = layer.periodic ? (layer.kernel - 1) / 2
                                 : member<int>(object, "padding", "a whole number or \"periodic\"");
  layer.slope = member<double>(object, "slope");
  return layer;
}

TransposedConvolution read_transposed_convolution(const json& object) {
  return {member<int>(object, "outputs"), member<int>(object, "kernel"), member<int>(object, "stride"),
          member<int>(object, "padding"), member<double>(object, "slope")};
}

Resample read_resample(const json& object) {
  const auto name = member<std::string>(object, "interpolation");
  const auto* row = std::ranges::find(kInterpolations, name, &NamedInterpolation::name);
  ensure(row != kInterpolations.end(), Fault::format,
         "Layer {} has the interpolation \"{}\": use nearest, linear or periodic.",
         member<std::string>(object, "name"), name);
  return {member<int>(object, "factor"), row->value};
}

/// A kind of layer as it is written.
struct KindEntry {
  std::string_view name;
  std::vector<std::string_view> members;  ///< members of its object besides name, inputs and kind
  Layer::Kind (*read)(const json&);
};

const std::array<KindEntry, std::variant_size_v<Layer::Kind>> kKinds = {{
    {"convolution",
     {"outputs", "kernel", "stride", "padding", "slope"},
     [](const json& object) -> Layer::Kind { return read_convolution(object); }},
    {"transposed_convolution",
     {"outputs", "kernel", "stride", "padding", "slope"},
     [](const json& object) -> Layer::Kind { return read_transposed_convolution(object); }},
    {"resample",
     {"factor", "interpolation"},
     [](const json& object) -> Layer::Kind { return read_resample(object); }},
    {"average_pool",
     {"size", "stride"},
     [](const json& object) -> Layer::Kind {
       return AveragePool{member<int>(object, "size"), member<int>(object, "stride")};
     }},
    {"max_pool",
     {"size", "stride"},
     [](const json& object) -> Layer::Kind {
       return MaxPool{member<int>(object, "size"), member<int>(object, "stride")};
     }},
    {"dense",
     {"outputs", "slope"},
     [](const json& object) -> Layer::Kind {
       return Dense{member<int>(object, "outputs"), member<double>(object, "slope")};
     }},
    {"dropout",
     {"probability"},
     [](const json& object) -> Layer::Kind { return Dropout{member<double>(object, "probability")}; }},
    {"tanh",
     {"scale"},
     [](const json& object) -> Layer::Kind { return Tanh{member<double>(object, "scale")}; }},
    {"add",
     {"slope"},
     [](const json& object) -> Layer::Kind { return Add{member<double>(object, "slope")}; }},
    {"concat", {}, [](const json&) -> Layer::Kind { return Concat{}; }},
    {"global_mean",
     {"squares"},
     [](const json& object) -> Layer::Kind { return GlobalMean{member<bool>(object, "squares")}; }},
    {"normalise", {}, [](const json&) -> Layer::Kind { return Normalise{}; }},
}};

Layer read_layer(const json& object) {
  Layer layer{member<std::string>(object, "name"), member<std::vector<std::string>>(object, "inputs"), {}};
  const auto kind = member<std::string>(object, "kind");
  const KindEntry* entry = core::find_row(kKinds, kind);
  ensure(entry != nullptr, Fault::format, "Layer {} is of kind \"{}\": use {}.", layer.name, kind,
         core::alternatives(core::names_in(kKinds)));
  std::vector<std::string_view> members = {"name", "inputs", "kind"};
  members.insert(members.end(), entry->members.begin(), entry->members.end());
  ensure_only(object, members);
  layer.kind = entry->read(object);
  return layer;
}

/// The layer that determines the number of outputs: the last one, not counting a tanh.
template <class Spec>
auto& output_layer(Spec& spec) {
  const auto decides = [](const Layer& layer) { return !std::holds_alternative<Tanh>(layer.kind); };
  const auto found = std::find_if(spec.layers.rbegin(), spec.layers.rend(), decides);
  ensure(found != spec.layers.rend(), Fault::config, "Network {} has no layers with weights.", spec.name);
  return *found;
}

/// The number of outputs of a layer that may end a network, or nullptr.
template <class AnyLayer>
auto* outputs_of(AnyLayer& layer) {
  if (auto* dense = std::get_if<Dense>(&layer.kind)) return &dense->outputs;
  auto* convolution = std::get_if<Convolution>(&layer.kind);
  return convolution == nullptr ? nullptr : &convolution->outputs;
}

/// Checks a layer's name, which names a group in checkpoints and is printed in tables.
void ensure_name(const std::string& name, const std::string& network) {
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
  const bool dots = name.find_first_not_of('.') == std::string::npos;
  ensure(plain && !dots, Fault::config,
         "Network {} has a layer called {}: use letters, digits, '_', '-' and '.'.", network,
         nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

/// Checks the number of inputs of a layer.
void ensure_inputs(const NetworkSpec& spec, const Layer& layer) {
  const bool several = std::holds_alternative<Add>(layer.kind) || std::holds_alternative<Concat>(layer.kind);
  ensure(several ? layer.inputs.size() >= 2 : layer.inputs.size() == 1, Fault::config,
         "Layer {} of network {} has {} inputs: its kind takes {}.", layer.name, spec.name,
         layer.inputs.size(), several ? "two or more" : "one");
}

/// Finds the layer's inputs among the preceding tensors: tensor t is the output of layer t - 1.
std::vector<int> find_inputs(const NetworkSpec& spec, const Layer& layer,
                             const std::vector<std::string>& tensors) {
  std::vector<int> found;
  for (const std::string& input : layer.inputs) {
    const auto at = std::find(tensors.begin(), tensors.end(), input);
    const bool later =
        std::ranges::any_of(spec.layers, [&](const Layer& other) { return other.name == input; });
    ensure(at != tensors.end(), Fault::config,
           "Layer {} of network {} reads {}, which does not precede it{}.", layer.name, spec.name, input,
           later ? ": put layers in an order in which they can be computed; a network has no cycles" : "");
    found.push_back(static_cast<int>(at - tensors.begin()) - 1);
  }
  return found;
}

/// Checks that layers after the normalisation read nothing from before it.
void ensure_two_parts(const NetworkSpec& spec, const std::vector<std::vector<int>>& sources) {
  const int cut = find_normalisation(spec);
  for (int i = cut + 1; cut >= 0 && i < static_cast<int>(sources.size()); ++i) {
    for (const int source : sources[static_cast<std::size_t>(i)]) {
      ensure(source >= cut, Fault::config,
             "Layer {} of network {} reads {}, which is before the normalisation {}: let it read the "
             "normalisation, or move it before that.",
             spec.layers[static_cast<std::size_t>(i)].name, spec.name,
             source < 0 ? spec.input : spec.layers[static_cast<std::size_t>(source)].name,
             spec.layers[static_cast<std::size_t>(cut)].name);
    }
  }
}

}  // namespace

int find_normalisation(const NetworkSpec& spec) {
  int found = -1;
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!std::holds_alternative<Normalise>(spec.layers[i].kind)) continue;
    ensure(found < 0, Fault::config, "Network {} has two normalisations, {} and {}: leave one.", spec.name,
           spec.layers[static_cast<std::size_t>(std::max(found, 0))].name, spec.layers[i].name);
    found = static_cast<int>(i);
  }
  return found;
}

std::vector<std::vector<int>> resolve_inputs(const NetworkSpec& spec) {
  constexpr std::size_t kMostLayers = 10'000;  // names are searched one by one
  ensure(spec.layers.size() <= kMostLayers, Fault::config, "Network {} has {} layers, but {} is the limit.",
         spec.name, spec.layers.size(), kMostLayers);
  ensure(
      outputs_of(output_layer(spec)) != nullptr, Fault::config,
      "The last layer of network {}, {}, is not dense: end it with a dense layer, and a tanh if need be, or for a field "
      "with a convolution.",
      spec.name, output_layer(spec).name);
  std::vector<std::string> tensors = {spec.input};
  std::vector<bool> read = {false};
  std::vector<std::vector<int>> sources;
  for (const Layer& layer : spec.layers) {
    ensure_name(layer.name, spec.name);
    ensure_inputs(spec, layer);
    sources.push_back(find_inputs(spec, layer, tensors));
    ensure(std::find(tensors.begin(), tensors.end(), layer.name) == tensors.end(), Fault::config,
           "Network {} has two tensors called {}: rename one.", spec.name, layer.name);
    for (const int source : sources.back()) read[static_cast<std::size_t>(source + 1)] = true;
    tensors.push_back(layer.name);
    read.push_back(false);
  }
  for (std::size_t tensor = 0; tensor + 1 < tensors.size(); ++tensor) {
    ensure(read[tensor], Fault::config, "No layer of network {} reads {}: remove it or read it.", spec.name,
           tensors[tensor]);
  }
  ensure_two_parts(spec, sources);
  return sources;
}

NetworkSpec with_outputs(NetworkSpec spec, int outputs) {
  resolve_inputs(spec);
  int& last = *outputs_of(output_layer(spec));
  ensure(outputs > 0, Fault::config, "Network {} needs at least one output.", spec.name);
  ensure(
      last == 0 || last == outputs, Fault::config,
      "Network {} has {} outputs, but {} are needed: give its last layer 0, which stands for as many as are "
      "needed, or use the data and --loss it was made for.",
      spec.name, last, outputs);
  last = outputs;
  return spec;
}

NetworkSpec with_dropout(NetworkSpec spec, double probability) {
  bool found = false;
  for (Layer& layer : spec.layers) {
    if (auto* dropout = std::get_if<Dropout>(&layer.kind)) {
      dropout->probability = probability;
      found = true;
    }
  }
  ensure(found || probability == 0, Fault::config,
         "Network {} has no dropout layers: leave --dropout {} out, or add some to its description.",
         spec.name, probability);
  return spec;
}

void to_json(json& object, const NetworkSpec& spec) {
  object = {{"name", spec.name}, {"input", spec.input}, {"layers", json::array()}};
  if (!spec.baseline.empty()) object["baseline"] = spec.baseline;
  for (const Layer& layer : spec.layers) {
    json entry = {{"name", layer.name}, {"inputs", layer.inputs}};
    std::visit([&](const auto& kind) { write(entry, kind); }, layer.kind);
    object["layers"].push_back(entry);
  }
}

void from_json(const json& object, NetworkSpec& spec) {
  ensure_only(object, {"name", "input", "layers", "baseline"});
  NetworkSpec read{member<std::string>(object, "name"), member<std::string>(object, "input"), {}};
  for (const json& entry : member<std::vector<json>>(object, "layers"))
    read.layers.push_back(read_layer(entry));
  if (object.contains("baseline")) {
    read.baseline = member<std::string>(object, "baseline");
    ensure(read.baseline == kSummaryStatistics, Fault::format,
           "The baseline of a network is \"{}\": use {} or leave it out.", read.baseline, kSummaryStatistics);
  }
  spec = std::move(read);
}

}  // namespace cosmo::nn
