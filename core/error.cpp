#include "core/error.hpp"

#include <exception>
#include <filesystem>
#include <new>

#include "core/printable.hpp"

namespace cosmo::core {

Error::Error(Fault fault, const std::string& sentence, bool agreed)
    : std::runtime_error(one_line(sentence)), fault_(fault), agreed_(agreed) {}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(Fault::io, "Memory ran out: use more nodes, or smaller data or settings.");
  } catch (const std::filesystem::filesystem_error& error) {
    return Error(Fault::io, fmt::format("{}: {}; check the path and its permissions.", error.path1().string(),
                                        error.code().message()));
  } catch (const std::exception& error) {
    return Error(Fault::internal, error.what());
  }
}

}  // namespace cosmo::core
