#include "nn/layer/convolution_primitives.hpp"

// oneDNN's sums depend on the number of threads. Where they must not, each thread computes pieces of a tensor's channels.

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

/// The number of pieces of a tensor of `channels` channels, each for one thread, if sums must not depend on threads: no
/// piece has fewer than two blocks.
int pieces_of(const NetworkBuilder& builder, std::int64_t channels) {
  int pieces = 1;
  while (pieces < 16 && channels % (4 * pieces * kernels().block) == 0) pieces *= 2;
  return builder.reproducible && builder.batch == 1 ? pieces : 1;
}

Layout piece_of(const Layout& tensor, int pieces) {
  dnnl::memory::dims dims = dims_of(tensor);
  dims[1] /= pieces;
  return blocked(dims, dnnl::memory::data_type::f32);
}

/// Pieces of a convolution's outputs: their number, and one's tensor, weights and biases.
struct OutputPieces {
  int count;
  Layout tensor, weights, biases;
};

OutputPieces output_pieces(const NetworkBuilder& builder, const Layout& weights, const Layout& output) {
  const int count = pieces_of(builder, dims_of(output)[1]);
  dnnl::memory::dims kernel = dims_of(weights);
  kernel[0] /= count;
  return {count,
          piece_of(output, count),
          blocked_weights(kernel),
          {{kernel[0]}, dnnl::memory::data_type::f32, Tag::x}};
}

std::int64_t values_in(const Layout& layout) {
  return static_cast<std::int64_t>(layout.get_size() / sizeof(float));
}

}  // namespace

bool ConvolutionPrimitives::append_forward_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled,
                                                     double slope, const dnnl::memory& source,
                                                     const dnnl::memory& weights, const dnnl::memory& biases,
                                                     const dnnl::memory& output) const {
  if (!in_blocks(source.get_desc(), weights.get_desc(), output.get_desc())) return false;
  const auto [pieces, made, kernel, bias] = output_pieces(builder, weights.get_desc(), output.get_desc());
  if (pieces == 1) return false;
  const auto description = forward(builder, slope, source.get_desc(), kernel, bias, made);
  if (!description || is_reference(description)) return false;
  builder.append_by_pieces(compiled.forward, description, pieces,
                           {{DNNL_ARG_SRC, source, source.get_desc(), 0},
                            {DNNL_ARG_WEIGHTS, weights, kernel, values_in(kernel)},
                            {DNNL_ARG_BIAS, biases, bias, values_in(bias)},
                            {DNNL_ARG_DST, output, made, values_in(made)}});
  return true;
}

bool ConvolutionPrimitives::append_parameter_gradients_by_pieces(
    NetworkBuilder& builder, CompiledLayer& compiled, const dnnl::memory& source,
    const dnnl::memory& d_output, const dnnl::memory& d_weights, const dnnl::memory& d_biases) const {
  if (!in_blocks(source.get_desc(), d_weights.get_desc(), d_output.get_desc())) return false;
  const auto [pieces, made, kernel, bias] = output_pieces(builder, d_weights.get_desc(), d_output.get_desc());
  if (pieces == 1) return false;
  const auto hint = forward(builder, 1, source.get_desc(), kernel, bias, made);
  const auto description = backward_weights(builder, hint, source.get_desc(), kernel, bias, made);
  if (!description || is_reference(description)) return false;
  builder.append_by_pieces(compiled.parameter_gradients, description, pieces,
                           {{DNNL_ARG_SRC, source, source.get_desc(), 0},
                            {DNNL_ARG_DIFF_DST, d_output, made, values_in(made)},
                            {DNNL_ARG_DIFF_WEIGHTS, d_weights, kernel, values_in(kernel)},
                            {DNNL_ARG_DIFF_BIAS, d_biases, bias, values_in(bias)}});
  return true;
}

bool ConvolutionPrimitives::append_input_gradient_by_pieces(NetworkBuilder& builder, CompiledLayer& compiled,
                                                            const dnnl::memory& weights,
                                                            const dnnl::memory& d_source,
                                                            const dnnl::memory& d_output) const {
  const Layout all_weights = weights.get_desc(), all_inputs = d_source.get_desc();
  if (!in_blocks(all_inputs, all_weights, d_output.get_desc())) return false;
  const int pieces = pieces_of(builder, dims_of(all_inputs)[1]);
  if (pieces == 1) return false;
  const Layout made = piece_of(all_inputs, pieces);
  dnnl::memory::dims seen = dims_of(all_weights);
  seen[1] /= pieces;
  const Layout bias({seen[0]}, dnnl::memory::data_type::f32, Tag::x);
  const auto hint =
      forward(builder, 1, made, free_layout(seen, dnnl::memory::data_type::f32), bias, d_output.get_desc());
  const auto description = backward_data(builder, hint, made, free_layout(seen, dnnl::memory::data_type::f32),
                                         d_output.get_desc());
  if (!description || is_reference(description)) return false;
  // The first piece's inputs of all outputs, as they lie in the whole: the next piece's are right behind in each block.
  const Layout part = all_weights.submemory_desc(seen, dnnl::memory::dims(seen.size(), 0));
  const Layout kernel = description.weights_desc();
  const dnnl::memory copy = builder.temporary(plain_layout({pieces * values_in(kernel)}));
  const OneThread copies(true);  // a thread makes those of its pieces
  const dnnl::reorder::primitive_desc copying(builder.engine, part, builder.engine, kernel,
                                              builder.attributes(1));
  const std::int64_t behind = values_in(blocked_weights(seen)) / (seen[0] / kernels().block);
  builder.append_by_pieces(
      compiled.input_gradient, copying, pieces,
      {{DNNL_ARG_FROM, weights, part, behind}, {DNNL_ARG_TO, copy, kernel, values_in(kernel)}});
  builder.append_by_pieces(compiled.input_gradient, description, pieces,
                           {{DNNL_ARG_DIFF_DST, d_output, d_output.get_desc(), 0},
                            {DNNL_ARG_WEIGHTS, copy, kernel, values_in(kernel)},
                            {DNNL_ARG_DIFF_SRC, d_source, made, values_in(made)}});
  return true;
}

}  // namespace cosmo::nn
