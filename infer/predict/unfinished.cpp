#include "infer/predict/unfinished.hpp"

#include "core/error.hpp"

namespace cosmo::infer {

void declare_unfinished(core::Options& options) {
  options.add_flag("unfinished",
                   "accept a model whose training is not finished, too; what is made with it records that");
}

std::vector<std::string> doubts_of_unfinished(const core::Options& options,
                                              const std::vector<std::string>& directories,
                                              const std::vector<nn::ModelManifest>& models) {
  std::vector<std::string> sentences;
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (models[m].complete) continue;
    core::ensure(options.flag("unfinished"), core::Fault::config,
                 "{} holds a training that is not finished: go on with it, or give --unfinished.",
                 directories[m]);
    sentences.push_back(directories[m] + " holds a training that is not finished.");
  }
  return sentences;
}

}  // namespace cosmo::infer
