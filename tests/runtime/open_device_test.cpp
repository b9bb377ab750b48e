#include "runtime/open_device.hpp"

#include <cstdlib>

#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv;

TEST_CASE("text that names no device is refused with what is accepted") {
    for (const char* text :
         {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cuda:99999999999", "Emulator"}) {
        INFO("device '" << text << "'");
        try {
            (void)open_device(text);
            FAIL("no error");
        } catch (const Error& error) {
            CHECK(error.kind() == ErrorKind::bad_input);
            CHECK_THAT(error.what(), contains("must be auto, cuda:N or emulator"));
        }
    }
}

TEST_CASE("without a driver auto is the emulator, and a CUDA device an error that says what is missing") {
    setenv("TCONV_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
    CHECK(open_device("auto")->info().kind == DeviceKind::emulator);
    CHECK(open_device("emulator")->info().kind == DeviceKind::emulator);
    try {
        (void)open_device("cuda:0");
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unavailable);
        CHECK_THAT(error.what(), contains("CUDA"));
    }
}
