#include "nn/layer/layers.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "nn/tensor/layout_copy.hpp"
#include "nn/tensor/one_thread.hpp"

namespace cosmo::nn {

namespace {

using Tag = dnnl::memory::format_tag;

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

NetworkBuilder::NetworkBuilder(const dnnl::engine& engine_, Mode mode_, const Arithmetic& arithmetic,
                               int batch_, const Share* share_)
    : mode(mode_),
      precision(arithmetic.precision),
      filtered(arithmetic.filtered),
      reproducible(arithmetic.reproducible),
      batch(batch_),
      engine(engine_),
      share(share_ == nullptr ? std::nullopt : std::optional(*share_)),
      scratch_slot_(memory.slot()),
      temporary_slot_(memory.slot()) {}

void NetworkBuilder::begin_layer(int index, int last_reader, std::optional<int> before) {
  layer_ = index;
  last_reader_ = last_reader;
  before_ = before;
}

std::optional<std::size_t> NetworkBuilder::offset(const dnnl::memory::desc& layout) const {
  const dnnl::memory::dims dims = dims_of(layout);
  const bool one_image =
      before_ && dims.size() == 5 && dims[0] == 1 && channel_block(layout).channels == dims[1];
  if (!one_image) return std::nullopt;
  return layout.get_size() / static_cast<std::size_t>(dims[2]) * static_cast<std::size_t>(*before_);
}

int NetworkBuilder::take_lane(int last) {
  auto lane =
      std::ranges::find_if(lanes_, [&](const Lane& candidate) { return candidate.busy_until < layer_; });
  if (lane == lanes_.end()) lane = lanes_.insert(lane, {memory.slot(), 0});
  lane->busy_until = last;
  return static_cast<int>(lane - lanes_.begin());
}

void NetworkBuilder::keep_for_readers(int lane) {
  if (lane < 0) return;
  int& busy_until = lanes_[static_cast<std::size_t>(lane)].busy_until;
  busy_until = std::max(busy_until, last_reader_);
}

Tensor NetworkBuilder::next_tensor(const dnnl::memory::desc& layout, double slope) {
  const int lane = take_lane(last_reader_);
  const int shared = lanes_[static_cast<std::size_t>(lane)].slot;
  const auto behind = offset(layout);
  const bool training = mode == Mode::training;
  const Margin margin = {training ? memory.slot() : shared, training ? shared : -1};
  return {memory.place(margin.values, layout, engine, behind.value_or(0)),
          training ? memory.place(shared, layout, engine, behind.value_or(0)) : dnnl::memory(),
          slope,
          false,
          lane,
          false,
          behind ? std::optional(margin) : std::nullopt};
}

Tensor NetworkBuilder::inner_tensor(const dnnl::memory::desc& layout) {
  const int lane = take_lane(layer_);
  const int shared = lanes_[static_cast<std::size_t>(lane)].slot;
  if (mode == Mode::inference) return {memory.place(shared, layout, engine), {}, 1, false, lane};
  return {memory.place(memory.slot(), layout, engine), memory.place(shared, layout, engine), 1, false, lane};
}

dnnl::memory NetworkBuilder::gradient_part(const dnnl::memory::desc& layout) {
  const int lane = take_lane(layer_);
  return memory.place(lanes_[static_cast<std::size_t>(lane)].slot, layout, engine);
}

Tensor NetworkBuilder::input_tensor(const dnnl::memory::desc& layout) {
  return {memory.outside(layout, engine), {}, 1};
}

Tensor NetworkBuilder::copied_input(const dnnl::memory::desc& layout) {
  return {memory.place(memory.slot(), layout, engine), {}, 1};
}

dnnl::memory NetworkBuilder::reordered(std::vector<Operation>& operations, const dnnl::memory& source,
                                       const dnnl::memory::desc& layout, bool temporary) {
  if (source.get_desc() == layout) return source;
  if (same_bytes(source.get_desc(), layout)) return memory.view(source, layout, engine);
  const dnnl::memory copy = memory.place(temporary ? temporary_slot_ : memory.slot(), layout, engine);
  append_reorder(operations, source, copy);
  return copy;
}

dnnl::memory NetworkBuilder::temporary(const dnnl::memory::desc& layout) {
  return memory.place(temporary_slot_, layout, engine);
}

ParameterMemory NetworkBuilder::add_parameter(CompiledLayer& layer, Parameter parameter,
                                              const dnnl::memory::desc& layout) {
  layer.parameters.push_back(parameters.parameters().size());
  return parameters.add(std::move(parameter), layout, engine);
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
  arguments.emplace(DNNL_ARG_SCRATCHPAD, memory.place(scratch_slot_, description.scratchpad_desc(), engine));
  const OperationKind kind = kind_of(description.get_kind());
  const bool alone = reproducible && (kind == OperationKind::convolution || kind == OperationKind::dense);
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
  const auto chosen = filtered.find(layer.name);
  return chosen != filtered.end() && chosen->second.contains(phase);
}

dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) strides[axis - 1] = strides[axis] * dims[axis];
  return {dims, type, strides};
}

ChannelBlock channel_block(const dnnl::memory::desc& layout) {
  const dnnl::memory::dims dims = dims_of(layout);
  if (dims.size() != 5) return {Tag::undef, 0};
  for (const ChannelBlock& block : {ChannelBlock{Tag::ncdhw, 1}, ChannelBlock{Tag::nCdhw16c, 16},
                                    ChannelBlock{Tag::nCdhw8c, 8}, ChannelBlock{Tag::ndhwc, dims[1]}}) {
    if (layout == dnnl::memory::desc(dims, type_of(layout), block.tag)) return block;
  }
  return {Tag::undef, 0};
}

dnnl::memory::desc with_type(const dnnl::memory::desc& layout, dnnl::memory::data_type type) {
  if (type_of(layout) == type) return layout;
  const ChannelBlock block = channel_block(layout);
  core::ensure(block.channels > 0, core::Fault::internal, "A layout has no channel block to keep.");
  return {dims_of(layout), type, block.tag};
}

bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b) {
  if (a == b) return true;
  const dnnl::memory::dims dims = dims_of(a);
  if (dims.size() != 5 || dims != dims_of(b) || type_of(a) != type_of(b)) return false;
  const auto one_block = [&](const dnnl::memory::desc& layout) {  // or no blocks, but the channels last
    const auto is = [&](Tag tag) { return layout == dnnl::memory::desc(dims, type_of(layout), tag); };
    return is(Tag::ndhwc) || (dims[1] == 16 && is(Tag::nCdhw16c)) || (dims[1] == 8 && is(Tag::nCdhw8c));
  };
  return one_block(a) && one_block(b);
}

namespace {

template <class T>
Operation addition(const dnnl::memory& total, const dnnl::memory& part) {
  return {OperationKind::other, "sum", [=](const Pass&) {
            const std::span<T> to = values_of<T>(total), from = values_of<T>(part);
#pragma omp parallel for simd schedule(static)
            for (std::size_t i = 0; i < to.size(); ++i)
              to[i] = T(static_cast<float>(to[i]) + static_cast<float>(from[i]));
          }};
}

}  // namespace

void append_sum(std::vector<Operation>& operations, const dnnl::memory& total, const dnnl::memory& part) {
  operations.push_back((is_bf16(total) ? addition<core::Bfloat16> : addition<float>)(total, part));
}

void append_leaky_relu_backward(NetworkBuilder& builder, std::vector<Operation>& operations,
                                const Tensor& tensor) {
  if (tensor.slope == 1) return;
  const auto description = describe_leaky_relu_backward(
      builder.engine, builder.attributes(1), tensor.values.get_desc(), static_cast<float>(tensor.slope));
  builder.append(operations, description,
                 {{DNNL_ARG_DST, tensor.values},
                  {DNNL_ARG_DIFF_DST, tensor.gradient},
                  {DNNL_ARG_DIFF_SRC, tensor.gradient}});
}

}  // namespace cosmo::nn
