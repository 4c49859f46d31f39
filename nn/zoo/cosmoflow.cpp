#include "nn/zoo/zoo.hpp"

namespace cosmo::nn::zoo {

NetworkSpec cosmoflow() {
  constexpr double kSlope = 0.01;
  return {"cosmoflow",
          "voxels",
          {
              {"conv1", {"voxels"}, Convolution{16, 3, 1, 0, kSlope}},  // (16, 126³)
              {"pool1", {"conv1"}, AveragePool{2, 2}},                  // (16, 63³)
              {"conv2", {"pool1"}, Convolution{32, 4, 1, 0, kSlope}},   // (32, 60³)
              {"pool2", {"conv2"}, AveragePool{2, 2}},                  // (32, 30³)
              {"conv3", {"pool2"}, Convolution{64, 4, 1, 0, kSlope}},   // (64, 27³)
              {"pool3", {"conv3"}, AveragePool{2, 2}},                  // (64, 13³)
              {"conv4", {"pool3"}, Convolution{128, 3, 2, 0, kSlope}},  // (128, 6³)
              {"conv5", {"conv4"}, Convolution{256, 3, 1, 0, kSlope}},  // (256, 4³)
              {"conv6", {"conv5"}, Convolution{256, 2, 1, 0, kSlope}},  // (256, 3³)
              {"conv7", {"conv6"}, Convolution{256, 2, 1, 0, kSlope}},  // (256, 2³)
              {"dense1", {"conv7"}, Dense{2048, kSlope}},
              {"dense2", {"dense1"}, Dense{256, kSlope}},
              {"dense3", {"dense2"}, Dense{0}},
          }};
}

}  // namespace cosmo::nn::zoo
