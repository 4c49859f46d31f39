#pragma once
// The network that the options name, and how it computes.

#include "core/named.hpp"
#include "core/run/options.hpp"
#include "train/nn/arithmetic.hpp"
#include "train/nn/census.hpp"
#include "train/nn/network_spec.hpp"

namespace cosmo::train {

/// The network that --network names, from the zoo or a JSON file, with its --dropout. Throws Error.
nn::NetworkSpec read_network(const core::Options& options);

/// The precision that --precision names. Throws Error{usage} for other names, Error{config} if the CPU has no
/// units for it.
core::Named<nn::Precision> read_precision(const core::Options& options);
/// The method that --convolution names. Throws Error{usage} for other names.
core::Named<nn::ConvolutionMethod> read_convolution(const core::Options& options);
/// How a network computes with a precision and a method. Throws Error{config} if none of it can be filtered and
/// the method is `filtered`.
nn::Arithmetic arithmetic_of(const nn::NetworkSpec& network, const nn::NetworkCensus& census, int batch,
                             nn::Precision precision, nn::ConvolutionMethod method);

}  // namespace cosmo::train
