#include "emulator_for_tests.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace tconv {
namespace {

/// Every test keeps its compiled code in a folder of this run.
class CacheOfThisRun {
public:
    CacheOfThisRun() { setenv("TCONV_CACHE", (folder_.path() / "cache").c_str(), 1); }

private:
    test::ScratchFolder folder_;
};
const CacheOfThisRun cache_of_this_run;

}  // namespace

ScopedVariable::ScopedVariable(std::string name, const std::string& value) : name_(std::move(name)) {
    const char* before = std::getenv(name_.c_str());
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    setenv(name_.c_str(), value.c_str(), 1);
}

ScopedVariable::~ScopedVariable() {
    if (was_set_) {
        setenv(name_.c_str(), before_.c_str(), 1);
    } else {
        unsetenv(name_.c_str());
    }
}

std::string shared_header() {
    const std::ifstream file(TCONV_CUH_FILE);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

CompileRequest request_for(const std::string& source, const std::vector<std::string>& kernels, bool header) {
    CompileRequest request;
    request.name = "test.cu";
    request.source = header ? shared_header() + "\n#line 1 \"test.cu\"\n" + source : source;
    request.kernels = kernels;
    return request;
}

CompiledCode compile_or_fail(const std::string& source, const std::vector<std::string>& kernels, bool header) {
    const auto compiler = make_host_compiler();
    CompileResult result = compiler->compile(request_for(source, kernels, header));
    INFO(result.log);
    REQUIRE(result.ok);
    return result.code;
}

}  // namespace tconv
