#include "device/nvrtc/nvrtc_library.hpp"

#include <algorithm>
#include <map>

#include "tests/catch.hpp"
#include "tests/support/contains.hpp"

using namespace tconv::nvrtc;

namespace {

std::vector<std::string> candidates(const std::map<std::string, std::string>& variables,
                                    const std::string& toolkit = "/build/cuda/lib64") {
    const auto environment = [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::string() : found->second;
    };
    return library_candidates(environment, toolkit);
}

std::ptrdiff_t position(const std::vector<std::string>& list, const std::string& entry) {
    const auto found = std::find(list.begin(), list.end(), entry);
    return found == list.end() ? -1 : found - list.begin();
}

}  // namespace

TEST_CASE("the loader's path comes first, then the variables, then the toolkit folders") {
    const auto list = candidates({{"CUDA_HOME", "/home/cuda"}, {"CUDA_PATH", "/path/cuda"}});
    REQUIRE(list.size() > 3);
    CHECK(list[0] == "libnvrtc.so.13");
    CHECK(list[1] == "libnvrtc.so.12");
    CHECK(list[2] == "libnvrtc.so");
    const auto home = position(list, "/home/cuda/lib64/libnvrtc.so.13");
    const auto path = position(list, "/path/cuda/targets/x86_64-linux/lib/libnvrtc.so");
    const auto build = position(list, "/build/cuda/lib64/libnvrtc.so.12");
    const auto usual = position(list, "/usr/local/cuda/lib64/libnvrtc.so");
    CHECK(2 < home);
    CHECK(home < path);
    CHECK(path < build);
    CHECK(build < usual);
}

TEST_CASE("TCONV_NVRTC is the only place where it is set") {
    CHECK(candidates({{"TCONV_NVRTC", "/mine/libnvrtc.so"}, {"CUDA_HOME", "/home/cuda"}}) ==
          std::vector<std::string>{"/mine/libnvrtc.so"});
    CHECK(candidates({{"TCONV_NVRTC", "/tmp"}}) ==
          std::vector<std::string>{"/tmp/libnvrtc.so.13", "/tmp/libnvrtc.so.12", "/tmp/libnvrtc.so"});
}

TEST_CASE("a library that is not there is a reason") {
    const Library library = open_library({"/nonexistent/libnvrtc.so"});
    CHECK(library.handle == nullptr);
    CHECK_THAT(library.reason, tconv::contains("/nonexistent/libnvrtc.so"));
    CHECK(open_library({}).handle == nullptr);
}
