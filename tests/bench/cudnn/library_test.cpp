#include "bench/cudnn/library.hpp"

#include <cstdlib>
#include <filesystem>

#include "bench/cudnn/peer.hpp"
#include "core/error.hpp"
#include "tests/bench/cudnn/fake_library.hpp"
#include "tests/catch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/emulated.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace tconv;

TEST_CASE("a library that is not there is a reason, not a failure") {
    const CudnnStatus status = cudnn_status("/nonexistent/libcudnn.so.9");
    CHECK_FALSE(status.available);
    CHECK_THAT(status.reason, contains("/nonexistent/libcudnn.so.9"));
}

TEST_CASE("the environment names the library, a given path goes first, a folder stands for its file") {
    test::use_script("version 91900");
    setenv("TCONV_CUDNN", TCONV_FAKE_CUDNN, 1);
    const CudnnStatus named = cudnn_status();
    CHECK(named.available);
    CHECK(named.version == "9.19.0");
    CHECK_THAT(named.path, contains("fake_cudnn"));
    CHECK_FALSE(cudnn_status("/nonexistent/libcudnn.so.9").available);

    const test::ScratchFolder folder;
    std::filesystem::create_symlink(TCONV_FAKE_CUDNN, folder / "libcudnn.so.9");
    CHECK(cudnn_status(folder.path().string()).available);
    setenv("TCONV_CUDNN", "/nonexistent/libcudnn.so.9", 1);
    CHECK_FALSE(cudnn_status().available);
    CHECK(cudnn_status(TCONV_FAKE_CUDNN).available);
    unsetenv("TCONV_CUDNN");
}

TEST_CASE("a library that lacks a function is named with it") {
    const CudnnStatus status = cudnn_status(TCONV_FAKE_CUDNN_CUT);
    CHECK_FALSE(status.available);
    CHECK(status.reason == "The cuDNN library lacks cudnnBackendExecute.");
}

TEST_CASE("only version 9 will do") {
    test::use_script("version 8907");
    CHECK_THAT(cudnn_status(TCONV_FAKE_CUDNN).reason, contains("cuDNN 8.9.7"));
    test::use_script("version 100201");
    CHECK_THAT(cudnn_status(TCONV_FAKE_CUDNN).reason, contains("cuDNN 10.2.1"));
    test::use_script("version 90801");
    CHECK(cudnn_status(TCONV_FAKE_CUDNN).version == "9.8.1");
}

TEST_CASE("a library that does not start is named by its error, in one line") {
    test::use_script("create 1001");
    auto& emulated = test::emulated();
    Builder builder(*emulated.compiler, emulated.device->info());
    const cudnn::Library library(TCONV_FAKE_CUDNN);
    try {
        (void)cudnn::make_peer(*emulated.device, builder, library, cudnn::Context());
        FAIL("no error");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unavailable);
        CHECK(std::string(error.what()) == "cuDNN does not start: cudnnCreate: CUDNN_STATUS_X (no device).");
    }
    CHECK(test::live_objects() == 0);
}

TEST_CASE("the emulator is no device for cuDNN") {
    test::use_script("");
    auto& emulated = test::emulated();
    Builder builder(*emulated.compiler, emulated.device->info());
    CHECK_THROWS_AS(open_cudnn(*emulated.device, builder, TCONV_FAKE_CUDNN), Error);
}
