// Layers that read several tensors.

#include "nn/build/gradients.hpp"
#include "nn/layer/layers.hpp"

namespace cosmo::nn {

namespace {

using Layout = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

/// result = leaky ReLU of the sum of the terms, which have the same layout as the result.
template <class T>
Operation add(const dnnl::memory& result, const std::vector<dnnl::memory>& terms, float slope) {
  return {OperationKind::other, "add", [=](const Pass&) {
            const std::span<T> sum = values_of<T>(result);
            for (std::size_t k = 0; k < terms.size(); ++k) {
              const std::span<T> term = values_of<T>(terms[k]);
              const bool first = k == 0;
              const float below = k + 1 == terms.size() ? slope : 1;
#pragma omp parallel for simd schedule(static)
              for (std::size_t i = 0; i < sum.size(); ++i) {
                const float value = (first ? 0 : static_cast<float>(sum[i])) + static_cast<float>(term[i]);
                sum[i] = T(value > 0 ? value : below * value);
              }
            }
          }};
}

/// Channels `first` to first + dims[1] - 1 of a tensor.
dnnl::memory channels_of(NetworkBuilder& builder, const dnnl::memory& whole, const dnnl::memory::dims& dims,
                         std::int64_t first) {
  dnnl::memory::dims offsets(dims.size(), 0);
  offsets[1] = first;
  return builder.memory.view(whole, whole.get_desc().submemory_desc(dims, offsets));
}

/// A blocked layout if each source's channels fill whole blocks, otherwise the plain one.
Layout joined_layout(const std::vector<Layout>& sources) {
  dnnl::memory::dims dims = dims_of(sources.front());
  dims[1] = 0;
  bool blocks = dims.size() == 5;
  for (const Layout& source : sources) {
    dims[1] += dims_of(source)[1];
    blocks = blocks && dims_of(source)[1] % 16 == 0;
  }
  const auto type = type_of(sources.front());
  return blocks ? Layout(dims, type, Tag::nCdhw16c) : plain_layout(dims, type);
}

/// `source`, (N, F) or (N, F, 1, 1, 1), as plain (N, F): itself, a view, or a copy that operations make.
dnnl::memory vector_of(NetworkBuilder& builder, std::vector<Operation>& operations,
                       const dnnl::memory& source) {
  const dnnl::memory::dims dims = dims_of(source.get_desc());
  const dnnl::memory plain = builder.reordered(operations, source, plain_layout(dims), false);
  return dims.size() == 2 ? plain : builder.memory.view(plain, plain_layout({dims[0], dims[1]}));
}

/// Appends a copy of a plain (N, F) into `target`, (N, F, 1, 1, 1).
void append_from_vector(NetworkBuilder& builder, std::vector<Operation>& operations,
                        const dnnl::memory& vector, const dnnl::memory& target) {
  builder.append_reorder(operations, builder.memory.view(vector, plain_layout(dims_of(target.get_desc()))),
                         target);
}

}  // namespace

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Add& layer, Tensors sources) {
  const Layout layout = sources.front().values.get_desc();
  const Tensor output = builder.tensors.output(layout, layer.slope);
  std::vector<dnnl::memory> terms;
  for (const Tensor& source : sources)
    terms.push_back(builder.reordered(compiled.forward, source.values, layout, false));
  const auto slope = static_cast<float>(layer.slope);
  compiled.forward.push_back(
      (is_bf16(output.values) ? add<core::Bfloat16> : add<float>)(output.values, terms, slope));
  for (const Tensor& source : sources) {
    if (!source.gradient) continue;
    builder.append_reorder(compiled.input_gradient, output.gradient, source.gradient);
    append_leaky_relu_backward(builder, compiled.input_gradient, source);
  }
  return output;
}

Tensor build(NetworkBuilder& builder, CompiledLayer& compiled, const Concat&, Tensors sources) {
  const bool vectors = std::ranges::any_of(
      sources, [](const Tensor& source) { return dims_of(source.values.get_desc()).size() == 2; });
  std::vector<dnnl::memory> parts;
  std::vector<Layout> layouts;
  for (const Tensor& source : sources) {
    parts.push_back(vectors ? vector_of(builder, compiled.forward, source.values) : source.values);
    layouts.push_back(parts.back().get_desc());
  }
  const Tensor output = builder.tensors.output(joined_layout(layouts), 1);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < sources.size(); first += dims_of(layouts[i++])[1]) {
    const dnnl::memory::dims dims = dims_of(layouts[i]);
    builder.append_reorder(compiled.forward, parts[i], channels_of(builder, output.values, dims, first));
    const dnnl::memory& d_source = sources[i].gradient;
    if (!d_source) continue;
    const dnnl::memory d_part = channels_of(builder, output.gradient, dims, first);
    if (dims.size() == dims_of(d_source.get_desc()).size()) {
      builder.append_reorder(compiled.input_gradient, d_part, d_source);
    } else {
      const dnnl::memory d_vector = builder.tensors.temporary(layouts[i]);
      builder.append_reorder(compiled.input_gradient, d_part, d_vector);
      append_from_vector(builder, compiled.input_gradient, d_vector, d_source);
    }
    append_leaky_relu_backward(builder, compiled.input_gradient, sources[i]);
  }
  return output;
}

}  // namespace cosmo::nn
