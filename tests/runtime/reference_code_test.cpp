#include "runtime/reference_code.hpp"

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

namespace {

using namespace tconv;

DeviceInfo device_of(int major, int minor) {
    DeviceInfo device;
    device.kind = DeviceKind::cuda;
    device.name = "GPU";
    device.compute_major = major;
    device.compute_minor = minor;
    return device;
}

std::vector<ReferenceImage> some_images() {
    return {{8, 0, false, 1, {}}, {8, 6, false, 1, {}}, {9, 0, false, 1, {}}, {7, 5, true, 1, {}}};
}

// "8.6", "ptx 7.5" or "none".
std::string choice(int major, int minor) {
    const std::vector<ReferenceImage> images = some_images();
    const ReferenceImage* image = choose_reference_image(images, device_of(major, minor));
    if (image == nullptr) return "none";
    return (image->ptx ? "ptx " : "") + std::to_string(image->compute_major) + "." +
           std::to_string(image->compute_minor);
}

}  // namespace

TEST_CASE("a device gets its own cubin, an older minor's, or PTX") {
    CHECK(choice(8, 0) == "8.0");
    CHECK(choice(8, 6) == "8.6");
    CHECK(choice(8, 9) == "8.6");
    CHECK(choice(8, 5) == "8.0");
    CHECK(choice(9, 0) == "9.0");
    CHECK(choice(10, 0) == "ptx 7.5");
    CHECK(choice(7, 5) == "ptx 7.5");
    CHECK(choice(7, 0) == "none");
}

TEST_CASE("the embedded images hold the reference kernels") {
    if (reference_images().empty()) {
        CHECK_THROWS_WITH(reference_code(device_of(9, 0)), contains("without the CUDA Toolkit"));
        return;
    }
    for (const auto& [major, minor] : {std::pair{9, 0}, std::pair{8, 0}}) {
        const std::string code = reference_code(device_of(major, minor));
        CHECK(code.substr(0, 4) ==
              "\x7f"
              "ELF");
        for (const char* entry : {"tconv_reference_f32", "tconv_reference_f16", "tconv_reference_bf16"})
            CHECK(code.find(entry) != std::string::npos);
    }
    CHECK_THAT(reference_code(device_of(99, 0)), contains(".target sm_"));
    CHECK_THROWS_WITH(reference_code(device_of(3, 0)), contains("older than all"));
}
