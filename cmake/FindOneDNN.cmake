# Finds oneDNN 2 or 3: target OneDNN::OneDNN. Debian's own CMake package of it asks for OpenCL, hence this file.
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)

if(OneDNN_INCLUDE_DIR)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h line REGEX "define DNNL_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+" OneDNN_VERSION_${part} "${line}")
  endforeach()
  set(OneDNN_VERSION ${OneDNN_VERSION_MAJOR}.${OneDNN_VERSION_MINOR}.${OneDNN_VERSION_PATCH})
  if(NOT OneDNN_VERSION_MAJOR MATCHES "^[23]$")
    message(FATAL_ERROR "oneDNN ${OneDNN_VERSION} was found, but nn/tensor/onednn.hpp is written for versions 2 and 3: "
                        "install one of these (Debian: libdnnl-dev).")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR VERSION_VAR OneDNN_VERSION)

if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES IMPORTED_LOCATION ${OneDNN_LIBRARY}
                                                  INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
