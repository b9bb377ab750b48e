#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.hpp"

namespace tconv {

/// The reference kernels compiled for one architecture.
struct ReferenceImage {
    int compute_major = 0;
    int compute_minor = 0;
    bool ptx = false;           ///< PTX, compiled by the driver for any newer device; else a cubin
    std::size_t bytes = 0;      ///< size when inflated
    std::string_view deflated;  ///< zlib stream
};

/// Those embedded in this library; empty in a build without the CUDA Toolkit.
[[nodiscard]] const std::vector<ReferenceImage>& reference_images();

/// The image to load on a device of this compute capability: the cubin of its own, else that of the nearest lower minor
/// of the same major, else the newest PTX that is not newer than the device; null where none fits.
[[nodiscard]] const ReferenceImage* choose_reference_image(const std::vector<ReferenceImage>& images,
                                                           const DeviceInfo& device);

/// Machine code of the reference kernels for a CUDA device. Throws Error(unavailable) when none fits.
[[nodiscard]] std::string reference_code(const DeviceInfo& device);

}  // namespace tconv
