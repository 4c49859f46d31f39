#include "nn/build/network_builder.hpp"

#include <utility>

#include "nn/tensor/layout_copy.hpp"
#include "nn/tensor/one_thread.hpp"

namespace cosmo::nn {

namespace {

OperationKind kind_of(dnnl::primitive::kind kind) {
  using enum dnnl::primitive::kind;
  return kind == convolution || kind == deconvolution ? OperationKind::convolution
         : kind == inner_product                      ? OperationKind::dense
         : kind == reorder                            ? OperationKind::reorder
                                                      : OperationKind::other;
}

/// The primitive of a description. oneDNN looks for it among those that it has made for as many threads as OpenMP has
/// now. That must be the number that it was described for, or else it may be one that needs more scratch space.
dnnl::primitive primitive_of(const dnnl::primitive_desc_base& description, bool one_thread) {
  const OneThread sums(one_thread);
  return dnnl::primitive(description.get());
}

}  // namespace

NetworkBuilder::NetworkBuilder(const dnnl::engine& engine_, Mode mode_, const Arithmetic& arithmetic_,
                               int batch_, const Share* share_)
    : engine(engine_),
      mode(mode_),
      arithmetic(arithmetic_),
      batch(batch_),
      share(share_ == nullptr ? std::nullopt : std::optional(*share_)),
      scratch_slot_(memory.slot()) {}

void NetworkBuilder::begin_layer(int index, int last_reader, std::optional<int> before, bool forward_only) {
  layer_ = index;
  tensors.begin_layer(index, last_reader, before, forward_only);
}

dnnl::memory NetworkBuilder::reordered(std::vector<Operation>& operations, const dnnl::memory& source,
                                       const dnnl::memory::desc& layout, bool temporary) {
  if (source.get_desc() == layout) return source;
  if (same_bytes(source.get_desc(), layout)) return memory.view(source, layout);
  const dnnl::memory copy = temporary ? tensors.temporary(layout) : memory.keep(layout);
  append_reorder(operations, source, copy);
  return copy;
}

ParameterMemory NetworkBuilder::add_parameter(CompiledLayer& layer, Parameter parameter,
                                              const dnnl::memory::desc& layout) {
  layer.parameters.push_back(parameters.parameters().size());
  return parameters.add(std::move(parameter), layout);
}

void NetworkBuilder::append_reorder(std::vector<Operation>& operations, const dnnl::memory& source,
                                    const dnnl::memory& target) {
  if (needs_own_copy(source.get_desc(), target.get_desc())) {
    operations.push_back(
        {OperationKind::reorder, "copied", [=](const Pass&) { copy_layout(source, target); }});
    return;
  }
  const dnnl::reorder::primitive_desc description(source, target, attributes(1));
  append(operations, description, {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}});
}

void NetworkBuilder::append(std::vector<Operation>& operations, const dnnl::primitive_desc_base& description,
                            std::unordered_map<int, dnnl::memory> arguments) {
  arguments.emplace(DNNL_ARG_SCRATCHPAD, memory.place(scratch_slot_, description.scratchpad_desc()));
  const OperationKind kind = kind_of(description.get_kind());
  const bool alone =
      arithmetic.reproducible && (kind == OperationKind::convolution || kind == OperationKind::dense);
  operations.push_back({kind, description.impl_info_str(),
                        [primitive = primitive_of(description, alone), arguments = std::move(arguments),
                         alone](const Pass& pass) {
                          const OneThread sums(alone);
                          primitive.execute(pass.stream, arguments);
                        }});
}

dnnl::primitive_attr NetworkBuilder::attributes(double slope) const {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (slope != 1) {
    dnnl::post_ops after;
    append_leaky_relu(after, static_cast<float>(slope));
    attributes.set_post_ops(after);
  }
  return attributes;
}

dnnl::prop_kind NetworkBuilder::forward_kind() const {
  return mode == Mode::training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

bool NetworkBuilder::filters(const CompiledLayer& layer, Phase phase) const {
  const auto chosen = arithmetic.filtered.find(layer.name);
  return chosen != arithmetic.filtered.end() && chosen->second.contains(phase);
}

}  // namespace cosmo::nn
