// What a slab exchanges with the others.

#include <memory>

#include "core/parallel/communicator.hpp"
#include "core/timer.hpp"
#include "nn/cut/plane_exchange.hpp"
#include "nn/layer/walked_layout.hpp"

namespace cosmo::nn {

namespace {

PlaneExchange exchange_of(const NetworkBuilder& builder, const Fetch& fetch, const WalkedLayout& walked) {
  return {fetch, builder.slab, walked.images(), walked.side() * walked.side() * walked.block.channels};
}

using Begin = std::function<void(const core::Communicator&, core::Messages&)>;
using End = std::function<void(core::Messages&)>;

/// An operation that exchanges messages within the group; its time counts as exchanging.
Operation exchanging(NetworkBuilder& builder, const char* name, Begin begin, End end) {
  const auto messages = std::make_shared<core::Messages>();
  return {OperationKind::exchange, name,
          [&builder, messages, group = builder.share->group, begin = std::move(begin)](const Pass&) {
            const core::Timer timer;
            begin(*group, *messages);
            builder.exchanging += timer.seconds();
          },
          [&builder, messages, end = std::move(end)] {
            const core::Timer timer;
            end(*messages);
            builder.exchanging += timer.seconds();
          }};
}

/// Pointer to the elements, or nullptr if there is no tensor.
template <class T>
T* data_if(const dnnl::memory& memory) {
  return memory ? data<T>(memory) : nullptr;
}

template <class T>
Operation fetching(NetworkBuilder& builder, const PlaneExchange& exchange, const dnnl::memory& own,
                   const dnnl::memory& seen, const dnnl::memory& scratch) {
  return exchanging(
      builder, "fetch planes",
      [=](const core::Communicator& group, core::Messages& messages) {
        exchange.begin_fetch(group, messages, data<T>(own), data_if<T>(seen), data<T>(scratch));
      },
      [=](core::Messages& messages) { exchange.end_fetch(messages, data_if<T>(seen), data<T>(scratch)); });
}

template <class T>
Operation giving_back(NetworkBuilder& builder, const PlaneExchange& exchange, const dnnl::memory& d_seen,
                      const dnnl::memory& d_own, const dnnl::memory& scratch) {
  return exchanging(
      builder, "give back gradients",
      [=](const core::Communicator& group, core::Messages& messages) {
        exchange.begin_give_back(group, messages, data_if<T>(d_seen), data<T>(scratch));
      },
      [=](core::Messages& messages) {
        exchange.end_give_back(messages, data_if<T>(d_seen), data<T>(d_own), data<T>(scratch));
      });
}

}  // namespace

Tensor append_fetch(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& source,
                    const Fetch& fetch) {
  const WalkedLayout walked(source.values.get_desc());
  const dnnl::memory own = builder.reordered(operations, source.values, walked.layout(), false);
  const PlaneExchange exchange = exchange_of(builder, fetch, walked);
  const int planes = fetch.seen[static_cast<std::size_t>(builder.slab)].size();
  const auto see = [&]() -> Tensor {
    if (planes == 0) return {};
    const dnnl::memory::desc layout = walked.layout(planes, walked.side());
    if (!source.margin) return builder.inner_tensor(layout);
    const auto place = [&](int slot) {
      return slot < 0 ? dnnl::memory() : builder.memory.place(slot, layout, builder.engine);
    };
    return {place(source.margin->values), place(source.margin->gradient), 1, false, false, source.lane};
  };
  const Tensor seen = see();
  const dnnl::memory scratch = builder.temporary(plain_layout({exchange.scratch()}));
  operations.push_back((is_bf16(own) ? fetching<core::Bfloat16> : fetching<float>)(builder, exchange, own,
                                                                                   seen.values, scratch));
  return seen;
}

void append_give_back(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& seen,
                      const Tensor& source, const Fetch& fetch) {
  const WalkedLayout walked(source.gradient.get_desc());
  const bool in_place = walked.layout() == source.gradient.get_desc();
  const dnnl::memory d_own =
      in_place ? source.gradient
               : builder.memory.place(builder.memory.slot(), walked.layout(), builder.engine);
  const PlaneExchange exchange = exchange_of(builder, fetch, walked);
  const dnnl::memory scratch = builder.temporary(plain_layout({exchange.scratch()}));
  operations.push_back((is_bf16(d_own) ? giving_back<core::Bfloat16> : giving_back<float>)(builder, exchange,
                                                                                           seen.gradient,
                                                                                           d_own, scratch));
  if (!in_place) builder.append_reorder(operations, d_own, source.gradient);
  append_leaky_relu_backward(builder, operations, source);
}

void append_sum_over_slabs(NetworkBuilder& builder, std::vector<Operation>& operations,
                           const dnnl::memory& values) {
  const CutPlan& plan = builder.share->plan;
  const int slabs = plan.slabs(), slab = builder.slab, per_rank = plan.slabs_per_rank();
  const auto count = static_cast<std::int64_t>(values_of<float>(values).size());
  const dnnl::memory scratch = builder.temporary(plain_layout({slabs * count}));
  const auto part = [=](int of) {
    return std::span(data<float>(scratch) + of * count, static_cast<std::size_t>(count));
  };
  operations.push_back(exchanging(
      builder, "sum over slabs",
      [=](const core::Communicator& group, core::Messages& messages) {
        const std::span<float> own = values_of<float>(values);
        std::ranges::copy(own, part(slab).begin());
        for (int other = 0; other < slabs; ++other) {
          if (other == slab) continue;
          messages.receive(group, part(other), other / per_rank, message_tag(other, slab, per_rank));
          messages.send(group, std::span<const float>(part(slab)), other / per_rank,
                        message_tag(slab, other, per_rank));
        }
      },
      [=](core::Messages& messages) {
        messages.wait();
        const std::span<float> sums = values_of<float>(values);
        std::ranges::copy(part(0), sums.begin());
        for (int of = 1; of < slabs; ++of) {
          for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part(of)[i];
        }
      }));
}

void append_share_with_slabs(NetworkBuilder& builder, std::vector<Operation>& operations,
                             const dnnl::memory& values) {
  const CutPlan& plan = builder.share->plan;
  const int rank = builder.share->rank, slab = builder.slab, per_rank = plan.slabs_per_rank();
  if (per_rank == 1) return;
  operations.push_back(exchanging(
      builder, "share with slabs",
      [=, first = plan.slabs_of(rank).first, last = plan.slabs_of(rank).last](const core::Communicator& group,
                                                                              core::Messages& messages) {
        if (slab != first)
          return messages.receive(group, values_of<float>(values), rank, message_tag(first, slab, per_rank));
        for (int other = first + 1; other < last; ++other)
          messages.send(group, std::span<const float>(values_of<float>(values)), rank,
                        message_tag(first, other, per_rank));
      },
      [](core::Messages& messages) { messages.wait(); }));
}

}  // namespace cosmo::nn
