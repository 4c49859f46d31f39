#include "infer/predict/unfinished.hpp"

#include "core/error.hpp"

namespace cosmo::infer {

void declare_unfinished(core::Options& options) {
  options.add_flag("unfinished",
                   "take a model whose training has not come to its end, too; what is made with it says so");
}

std::vector<std::string> unfinished(const core::Options& options, const std::vector<std::string>& directories,
                                    const std::vector<nn::ModelManifest>& models) {
  std::vector<std::string> sentences;
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (models[m].complete) continue;
    core::ensure(options.flag("unfinished"), core::Fault::config,
                 "{} is a training that has not come to its end: go on with it, or give --unfinished.",
                 directories[m]);
    sentences.push_back(directories[m] + " is a training that has not come to its end.");
  }
  return sentences;
}

}  // namespace cosmo::infer
