#include "runtime/reference_code.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cassert>
#include <utility>

#include "core/error.hpp"

namespace tconv {
namespace {

std::pair<int, int> capability(const ReferenceImage& image) {
    return {image.compute_major, image.compute_minor};
}

std::string inflate_image(const ReferenceImage& image) {
    std::string bytes(image.bytes, '\0');
    uLongf size = image.bytes;
    const int result =
        uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(image.deflated.data()),
                   static_cast<uLong>(image.deflated.size()));
    if (result != Z_OK || size != image.bytes)
        throw Error(ErrorKind::unavailable, "The embedded reference kernels are damaged.");
    return bytes;
}

}  // namespace

const ReferenceImage* choose_reference_image(const std::vector<ReferenceImage>& images, const DeviceInfo& device) {
    const std::pair wanted{device.compute_major, device.compute_minor};
    const ReferenceImage* best = nullptr;
    for (const ReferenceImage& image : images) {
        if (capability(image) > wanted) continue;
        if (!image.ptx && image.compute_major != device.compute_major) continue;
        // A cubin beats PTX; among equals the newer wins.
        const auto rank = [](const ReferenceImage& of) { return std::pair{!of.ptx, capability(of)}; };
        if (best == nullptr || rank(image) > rank(*best)) best = &image;
    }
    return best;
}

std::string reference_code(const DeviceInfo& device) {
    if (reference_images().empty()) {
        throw Error(ErrorKind::unavailable,
                    "There are no reference kernels for NVIDIA GPUs: this build was made without the CUDA Toolkit.");
    }
    const ReferenceImage* image = choose_reference_image(reference_images(), device);
    if (image == nullptr) {
        throw Error(
            ErrorKind::unavailable,
            fmt::format("There are no reference kernels for {} (compute capability {}.{}): it is older than all "
                        "that this build was made for.",
                        device.name, device.compute_major, device.compute_minor));
    }
    return inflate_image(*image);
}

}  // namespace tconv
