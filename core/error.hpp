#pragma once

#include <stdexcept>
#include <string>

namespace tconv {

/// What went wrong, for callers that react to it; the sentence is in `what()`.
enum class ErrorKind {
    bad_input,    ///< the caller's value breaks a rule; the command exits with 2
    not_found,    ///< asked for something that is not there
    cache,        ///< the database or a cache folder cannot be used
    device,       ///< a driver call, a launch or the emulator failed
    compile,      ///< a kernel did not compile, or no compiler is there
    unavailable,  ///< this machine or this build lacks what is needed
};

/// The project's one exception type: a kind and a full sentence that names the thing, the value and the rule.
class Error : public std::runtime_error {
public:
    Error(ErrorKind kind, const std::string& sentence) : std::runtime_error(sentence), kind_(kind) {}
    [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

private:
    ErrorKind kind_;
};

/// Refuses a caller's value.
[[noreturn]] inline void reject(const std::string& sentence) {
    throw Error(ErrorKind::bad_input, sentence);
}

}  // namespace tconv
