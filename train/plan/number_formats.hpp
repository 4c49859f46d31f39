#pragma once
// Section of a training's settings: the formats of numbers, and how convolutions are computed.

#include "core/error.hpp"
#include "core/named.hpp"
#include "core/run/options.hpp"
#include "nn/arithmetic.hpp"
#include "nn/census.hpp"
#include "nn/filtered_phases.hpp"
#include "nn/network_spec.hpp"
#include "nn/precision.hpp"
#include "train/gradient/gradient_sum.hpp"
#include "train/gradient/sum_order.hpp"

namespace cosmo::train {

struct NumberFormats {
  core::Named<nn::Precision> precision;
  core::Named<nn::ConvolutionMethod> convolution;
  nn::Arithmetic arithmetic;  ///< how the network computes
  WireFormat wire;            ///< format of gradients sent between ranks

  static void declare(core::Options& options) {
    options.begin_group(core::kEveryDay);
    options.add("precision", "f32",
                "format of convolutions and pools: f32, or bf16 with f32 weights (needs AVX512_BF16)",
                core::names_in(nn::kPrecisions));
    options.begin_group(core::kForExperts);
    options.add(
        "convolution", "auto",
        "method of convolutions: direct, filtered (minimal filtering in f32, an eighth of the products, where "
        "the form of a layer permits it), or auto (filtered where that is faster)",
        core::names_in(nn::kConvolutionMethods));
    options.add("reduction-precision", "f32",
                "format of gradients sent between ranks: f32, or bf16 (half the bytes, 8 significant bits)",
                core::names_in(kWireFormats));
  }

  /// `batch`: number of samples by which is chosen what to filter. Throws Error{usage}, or Error{config} if the CPU has
  /// no units for the precision, or if nothing of the network can be filtered although that was asked for.
  static NumberFormats read(const core::Options& options, const nn::NetworkSpec& network,
                            const nn::NetworkCensus& census, int batch, SumOrder order) {
    NumberFormats formats{options.entry("precision", nn::kPrecisions),
                          options.entry("convolution", nn::kConvolutionMethods),
                          {},
                          options.entry("reduction-precision", kWireFormats).value};
    nn::ensure_units(formats.precision.value);
    core::ensure(
        order == SumOrder::layout || formats.wire == WireFormat::f32, core::Fault::config,
        "--deterministic any sends sums in f32, since bf16 rounds what each rank has summed: leave out "
        "--reduction-precision bf16, or give --deterministic layout.");
    formats.arithmetic =
        arithmetic_of(network, census, batch, formats.precision.value, formats.convolution.value);
    formats.arithmetic.reproducible = order == SumOrder::reproducible;
    return formats;
  }

  /// How a network computes with a precision and a method.
  static nn::Arithmetic arithmetic_of(const nn::NetworkSpec& network, const nn::NetworkCensus& census,
                                      int batch, nn::Precision precision, nn::ConvolutionMethod method) {
    const bool in_bf16 = precision == nn::Precision::bf16;
    if (in_bf16 && method == nn::ConvolutionMethod::automatic && nn::bf16_units() == nn::Bf16Units::tiles)
      return precision;  // tiles are faster
    nn::FilteredPhases filtered = nn::choose_filtered(network, census, batch, method);
    if (in_bf16)  // a layer's tensors have one layout, so all its phases or none
      std::erase_if(filtered, [](const auto& layer) { return layer.second.size() < nn::kPhases.size(); });
    return {precision, std::move(filtered)};
  }

  void identify(core::Json& config) const {
    config["precision"] = precision.name;
    if (convolution.value != nn::ConvolutionMethod::automatic) config["convolution"] = convolution.name;
    if (wire == WireFormat::bf16) config["reduction_precision"] = "bf16";
  }
};

}  // namespace cosmo::train
