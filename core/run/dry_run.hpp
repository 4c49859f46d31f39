#pragma once
// What keeps a command other than a stage (core/run/stage.hpp) from its work, and a dry run only reports.

#include "core/error.hpp"
#include "core/format/json.hpp"
#include "core/log.hpp"
#include "core/run/tool.hpp"

namespace cosmo::core {

/// Calls `check`. In a dry run its Error is a warning, and its text is added to `refusals`, a list.
template <class Check>
void refuse_or_report(const Invocation& run, Json& refusals, const Check& check) {
  try {
    check();
  } catch (const Error& refusal) {
    if (!run.options.flag("dry-run")) throw;
    run.log.warn("{}", refusal.what());
    refusals.push_back(refusal.what());
  }
}

}  // namespace cosmo::core
