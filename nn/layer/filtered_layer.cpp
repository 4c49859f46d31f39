#include "nn/layer/filtered_layer.hpp"

#include "nn/kernel/kernel_set.hpp"

namespace cosmo::nn {

namespace {

using Tag = dnnl::memory::format_tag;

/// One buffer for the transformed weights and the scratch space of a filtered convolution.
class FilterBuffer {
 public:
  FilterBuffer(NetworkBuilder& builder, const FilteredConvolution& layer)
      : whole_(builder.tensors.temporary(plain_layout({layer.packed() + kernels().filter.scratch(layer)}))),
        packed_(layer.packed()) {}
  float* weights() const { return data<float>(whole_); }
  float* scratch() const { return data<float>(whole_) + packed_; }

 private:
  dnnl::memory whole_;
  std::int64_t packed_;
};

/// The gradient of the outputs before their leaky ReLU, as kernels read it.
FilterSource gradient_of(const FilteredLayer& layer, const dnnl::memory& d_output) {
  FilterSource source = {data<void>(d_output), is_bf16(d_output)};
  if (layer.pooling == Pooling::none) return source;
  source.bits = data<void>(layer.bits);
  const bool average = layer.pooling == Pooling::average;
  source.set = average ? 1.0f / 8 : 1;
  source.clear = average ? static_cast<float>(layer.slope) / 8 : 0;
  return source;
}

}  // namespace

dnnl::memory::desc blocked(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, kernels().block == 8 ? Tag::nCdhw8c : Tag::nCdhw16c};
}

dnnl::memory::desc blocked_weights(const dnnl::memory::dims& dims) {
  return {dims, dnnl::memory::data_type::f32, kernels().block == 8 ? Tag::OIdhw8i8o : Tag::OIdhw16i16o};
}

void append_filtered_forward(NetworkBuilder& builder, CompiledLayer& compiled, const FilteredLayer& layer,
                             const dnnl::memory& source, const dnnl::memory& weights,
                             const dnnl::memory& biases, const dnnl::memory& output) {
  const FilterBuffer buffer(builder, layer.form);
  compiled.forward.push_back(
      {OperationKind::convolution, kernels().filter.name, [=](const Pass&) {
         const FilterSource from{data<void>(source), is_bf16(source)};
         const FilterTarget to{data<void>(output),  is_bf16(output),
                               data<float>(biases), static_cast<float>(layer.slope),
                               layer.pooling,       layer.bits ? data<void>(layer.bits) : nullptr};
         kernels().filter.pack(layer.form, data<float>(weights), buffer.weights());
         kernels().filter.convolve(layer.form, from, buffer.weights(), to, buffer.scratch());
       }});
}

void append_filtered_parameter_gradients(NetworkBuilder& builder, CompiledLayer& compiled,
                                         const FilteredLayer& layer, const dnnl::memory& source,
                                         const dnnl::memory& d_output, const dnnl::memory& d_weights,
                                         const dnnl::memory& d_biases) {
  const dnnl::memory scratch =
      builder.tensors.temporary(plain_layout({kernels().filter.gradient_scratch(layer.form)}));
  compiled.parameter_gradients.push_back(
      {OperationKind::convolution, kernels().filter.name, [=](const Pass&) {
         kernels().filter.gradient(layer.form, {data<void>(source), is_bf16(source)},
                                   gradient_of(layer, d_output), data<float>(d_weights),
                                   data<float>(d_biases), data<float>(scratch));
       }});
}

void append_filtered_input_gradient(NetworkBuilder& builder, CompiledLayer& compiled,
                                    const FilteredLayer& layer, const dnnl::memory& weights,
                                    const dnnl::memory& d_output, const dnnl::memory& d_input) {
  const FilterBuffer buffer(builder, layer.form.transposed());
  compiled.input_gradient.push_back(
      {OperationKind::convolution, kernels().filter.name, [=](const Pass&) {
         kernels().filter.pack_transposed(layer.form, data<float>(weights), buffer.weights());
         kernels().filter.convolve(layer.form.transposed(), gradient_of(layer, d_output), buffer.weights(),
                                   {data<void>(d_input), is_bf16(d_input)}, buffer.scratch());
       }});
}

}  // namespace cosmo::nn
