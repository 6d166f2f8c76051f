// Helpers shared by input_file.cc and data_source.cc.
#pragma once
#include "calibration/data_source.h"

namespace lq::calibration {

std::string extension_of(const std::string& name);                          // ".npy", lower case; "" without one
std::string folder_name_of_input(std::string name);                         // '/', '\' and ':' -> '_'
Result<HostTensor> fit_to_input(HostTensor tensor, const InputSpec& spec);  // batch axis, shape check, type

}  // namespace lq::calibration
