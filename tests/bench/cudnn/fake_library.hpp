#pragma once

#include <dlfcn.h>

#include <string>

#include "tests/bench/cudnn/fake_cudnn.hpp"

namespace tconv::test {

template <class Function>
[[nodiscard]] Function* fake_function(const char* file, const char* name) {
    return reinterpret_cast<Function*>(dlsym(dlopen(file, RTLD_NOW | RTLD_LOCAL), name));
}

/// Tells the fake library how to behave from here on.
inline void use_script(const std::string& script) {
    fake_function<decltype(fake_cudnn_script)>(TCONV_FAKE_CUDNN, "fake_cudnn_script")(script.c_str());
}

[[nodiscard]] inline int live_objects() {
    return fake_function<decltype(fake_cudnn_live)>(TCONV_FAKE_CUDNN, "fake_cudnn_live")();
}

}  // namespace tconv::test
