#include "nn/build/gradients.hpp"

namespace cosmo::nn {

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
