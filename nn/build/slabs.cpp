#include "nn/build/slabs.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/parallel/communicator.hpp"
#include "core/timer.hpp"
#include "nn/build/gradients.hpp"
#include "nn/build/plane_exchange.hpp"
#include "nn/tensor/walked_layout.hpp"

namespace cosmo::nn {

namespace {

PlaneExchange exchange_of(const NetworkBuilder& builder, const Fetch& fetch, const WalkedLayout& walked) {
  return {fetch, builder.share->rank, walked.images(), walked.side() * walked.side() * walked.block.channels};
}

/// An operation that exchanges messages within the group; its time counts as exchanging.
Operation exchanging(NetworkBuilder& builder, const char* name,
                     std::function<void(const core::Communicator&)> exchange) {
  return {OperationKind::exchange, name,
          [&builder, group = builder.share->group, exchange = std::move(exchange)](const Pass&) {
            const core::Timer timer;
            exchange(*group);
            builder.exchanging += timer.seconds();
          }};
}

template <class T>
Operation fetching(NetworkBuilder& builder, const PlaneExchange& exchange, const dnnl::memory& own,
                   const dnnl::memory& seen, const dnnl::memory& scratch) {
  return exchanging(builder, "fetch planes", [=](const core::Communicator& group) {
    exchange.fetch(group, data<T>(own), data<T>(seen), data<T>(scratch));
  });
}

template <class T>
Operation giving_back(NetworkBuilder& builder, const PlaneExchange& exchange, const dnnl::memory& d_seen,
                      const dnnl::memory& d_own, const dnnl::memory& scratch) {
  return exchanging(builder, "give back gradients", [=](const core::Communicator& group) {
    exchange.give_back(group, data<T>(d_seen), data<T>(d_own), data<T>(scratch));
  });
}

}  // namespace

Tensor append_fetch(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& source,
                    const Fetch& fetch) {
  const WalkedLayout walked(source.values.get_desc());
  const dnnl::memory own = builder.reordered(operations, source.values, walked.layout(), false);
  const PlaneExchange exchange = exchange_of(builder, fetch, walked);
  const int planes = fetch.seen[static_cast<std::size_t>(builder.share->rank)].size();
  const auto see = [&]() -> Tensor {
    const dnnl::memory::desc layout = walked.layout(planes, walked.side());
    if (!source.margin) return builder.tensors.inner(layout);
    const auto place = [&](int slot) {
      return slot < 0 ? dnnl::memory() : builder.memory.place(slot, layout);
    };
    return {place(source.margin->values), place(source.margin->gradient), 1, false, source.lane};
  };
  const Tensor seen = see();
  const dnnl::memory scratch = builder.tensors.temporary(plain_layout({exchange.scratch()}));
  operations.push_back((is_bf16(own) ? fetching<core::Bfloat16> : fetching<float>)(builder, exchange, own,
                                                                                   seen.values, scratch));
  return seen;
}

void append_give_back(NetworkBuilder& builder, std::vector<Operation>& operations, const Tensor& seen,
                      const Tensor& source, const Fetch& fetch) {
  const WalkedLayout walked(source.gradient.get_desc());
  const bool in_place = walked.layout() == source.gradient.get_desc();
  const dnnl::memory d_own = in_place ? source.gradient : builder.memory.keep(walked.layout());
  const PlaneExchange exchange = exchange_of(builder, fetch, walked);
  const dnnl::memory scratch = builder.tensors.temporary(plain_layout({exchange.scratch()}));
  operations.push_back((is_bf16(d_own) ? giving_back<core::Bfloat16> : giving_back<float>)(builder, exchange,
                                                                                           seen.gradient,
                                                                                           d_own, scratch));
  if (!in_place) builder.append_reorder(operations, d_own, source.gradient);
  append_leaky_relu_backward(builder, operations, source);
}

void append_sum_over_slabs(NetworkBuilder& builder, std::vector<Operation>& operations,
                           const dnnl::memory& values) {
  const int rank = builder.share->rank, ranks = builder.share->plan.ranks();
  const auto count = static_cast<std::int64_t>(values_of<float>(values).size());
  const dnnl::memory scratch = builder.tensors.temporary(plain_layout({ranks * count}));
  const auto part = [=](int of) {
    return std::span(data<float>(scratch) + of * count, static_cast<std::size_t>(count));
  };
  operations.push_back(exchanging(builder, "sum over slabs", [=](const core::Communicator& group) {
    const std::span<float> sums = values_of<float>(values);
    std::ranges::copy(sums, part(rank).begin());
    core::Messages messages;
    for (int other = 0; other < ranks; ++other) {
      if (other == rank) continue;
      messages.receive(group, part(other), other);
      messages.send(group, std::span<const float>(part(rank)), other);
    }
    messages.wait();
    std::ranges::copy(part(0), sums.begin());
    for (int of = 1; of < ranks; ++of) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part(of)[i];
    }
  }));
}

}  // namespace cosmo::nn
