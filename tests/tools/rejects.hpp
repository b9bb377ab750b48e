#pragma once

#include <string>
#include <vector>

#include "core/error.hpp"
#include "tests/catch.hpp"

namespace tconv::tests {

/// The sentence with which `act` rejects its input.
template <class Act>
std::string rejection(const Act& act) {
    try {
        act();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::bad_input);
        return error.what();
    }
    FAIL("nothing was rejected");
    return {};
}

/// Checks that `act` rejects its input with a one-line sentence that holds every one of `parts`.
template <class Act>
void check_rejection(const Act& act, const std::vector<std::string>& parts) {
    const std::string sentence = rejection(act);
    CHECK(sentence.find('\n') == std::string::npos);
    for (const std::string& part : parts) {
        INFO(sentence);
        INFO("should say " << part);
        CHECK(sentence.find(part) != std::string::npos);
    }
}

}  // namespace tconv::tests
