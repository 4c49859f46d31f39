#include "core/output/watched_files.hpp"

namespace cosmo::core {

void WatchedFiles::add(const WatchedFiles& others) {
  states_.insert(others.states_.begin(), others.states_.end());
}

void WatchedFiles::share(const Communicator& comm) {
  if (comm.size() == 1) return;
  for (const std::string& text : comm.gather(Json(*this).dump())) add(Json::parse(text));
}

void WatchedFiles::ensure_unchanged(const std::filesystem::path& path) const {
  const auto found = states_.find(path.string());
  if (found != states_.end()) core::ensure_unchanged(path, found->second);
}

void WatchedFiles::ensure_unchanged() const {
  for (const auto& [path, before] : states_) core::ensure_unchanged(path, before);
}

void to_json(Json& json, const WatchedFiles& files) {
  json = Json::object();
  for (const auto& [path, state] : files.states_) json[path] = {state.inode, state.bytes, state.modified};
}

void from_json(const Json& json, WatchedFiles& files) {
  for (const auto& [path, state] : json.items()) files.states_[path] = {state[0], state[1], state[2]};
}

}  // namespace cosmo::core
