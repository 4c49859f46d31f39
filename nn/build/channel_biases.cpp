#include "nn/build/channel_biases.hpp"

#include "core/error.hpp"
#include "nn/tensor/walked_layout.hpp"

namespace cosmo::nn {

namespace {

/// Number of values in a plane (side, side, block) of an image (depth, side, side, block).
std::int64_t plane_size(const WalkedLayout& at) { return at.side() * at.side() * at.block.channels; }

/// rows (blocks, side, block): for each value of a row of cells the bias of its channel, or 0 for padding.
void fill_rows(const WalkedLayout& at, const float* biases, float* rows) {
  for (std::int64_t block = 0; block < at.blocks(); ++block) {
    for (std::int64_t x = 0; x < at.side(); ++x, rows += at.block.channels) {
      std::fill_n(rows, at.block.channels, 0.0f);
      std::copy_n(biases + at.first_channel(block), at.channels(block), rows);
    }
  }
}

template <class T>
void add_biases(const WalkedLayout& at, const float* rows, float slope, T* values) {
  const std::int64_t lines = at.depth() * at.side(), length = at.side() * at.block.channels;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < at.images(); ++image) {
    for (std::int64_t line = 0; line < lines; ++line) {
      const float* const biases = rows + image % at.blocks() * length;
      T* const row = values + (image * lines + line) * length;
#pragma omp simd
      for (std::int64_t i = 0; i < length; ++i) {
        const float sum = static_cast<float>(row[i]) + biases[i];
        row[i] = T(sum > 0 ? sum : slope * sum);
      }
    }
  }
}

/// sums (images, depth, block) of the planes.
template <class T>
void sum_planes(const WalkedLayout& at, const T* gradient, float* sums) {
  const std::int64_t block = at.block.channels;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < at.images(); ++image) {
    for (std::int64_t z = 0; z < at.depth(); ++z) {
      const T* const plane = gradient + (image * at.depth() + z) * plane_size(at);
      float* const to = sums + (image * at.depth() + z) * block;
      std::fill_n(to, block, 0.0f);
      if (block == 1) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = 0; i < plane_size(at); ++i) sum += static_cast<float>(plane[i]);
        *to = sum;
        continue;
      }
      for (const T* cell = plane; cell < plane + plane_size(at); cell += block) {
#pragma omp simd
        for (std::int64_t c = 0; c < block; ++c) to[c] += static_cast<float>(cell[c]);
      }
    }
  }
}

/// The sums over samples and planes.
void add_planes(const WalkedLayout& at, const float* sums, float* d_biases) {
  for (std::int64_t channel = 0; channel < at.dims[1]; ++channel) {
    double sum = 0;
    for (std::int64_t image = channel / at.block.channels; image < at.images(); image += at.blocks()) {
      for (std::int64_t z = 0; z < at.depth(); ++z)
        sum += static_cast<double>(
            sums[(image * at.depth() + z) * at.block.channels + channel % at.block.channels]);
    }
    d_biases[channel] = static_cast<float>(sum);
  }
}

/// The layout in which the kernels walk the cells.
WalkedLayout walk(const dnnl::memory& tensor) {
  const WalkedLayout walked(tensor.get_desc());
  core::ensure(walked.layout() == tensor.get_desc(), core::Fault::internal,
               "oneDNN has chosen a layout for a transposed convolution that cosmo does not support.");
  return walked;
}

}  // namespace

void append_biases(NetworkBuilder& builder, std::vector<Operation>& operations, const dnnl::memory& biases,
                   double slope, const dnnl::memory& values) {
  const WalkedLayout at = walk(values);
  const dnnl::memory rows =
      builder.tensors.temporary(plain_layout({at.blocks() * at.side() * at.block.channels}));
  operations.push_back({OperationKind::other, "biases", [=, below = static_cast<float>(slope)](const Pass&) {
                          fill_rows(at, data<float>(biases), data<float>(rows));
                          if (is_bf16(values))
                            add_biases(at, data<float>(rows), below, data<core::Bfloat16>(values));
                          else
                            add_biases(at, data<float>(rows), below, data<float>(values));
                        }});
}

void append_bias_gradients(NetworkBuilder& builder, std::vector<Operation>& operations,
                           const dnnl::memory& gradient, const dnnl::memory& d_biases) {
  const WalkedLayout at = walk(gradient);
  const dnnl::memory sums =
      builder.tensors.temporary(plain_layout({at.images() * at.depth() * at.block.channels}));
  operations.push_back({OperationKind::other, "biases", [=](const Pass&) {
                          if (is_bf16(gradient))
                            sum_planes(at, data<core::Bfloat16>(gradient), data<float>(sums));
                          else
                            sum_planes(at, data<float>(gradient), data<float>(sums));
                          add_planes(at, data<float>(sums), data<float>(d_biases));
                        }});
}

}  // namespace cosmo::nn
