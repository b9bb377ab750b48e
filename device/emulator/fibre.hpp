#pragma once

#include <cstddef>

namespace tconv::emulator {

/// A stack of its own on which a function runs until it ends or suspends itself. One processor thread a fibre; a fibre
/// whose function has ended can start another at once, which is what makes a CUDA thread cheap.
class Fibre {
public:
    using Body = void (*)(void* argument);

    /// `colour` shifts the top of the stack, so that many fibres do not compete for the same cache lines.
    explicit Fibre(int colour);
    Fibre(const Fibre&) = delete;
    Fibre& operator=(const Fibre&) = delete;
    ~Fibre();

    /// Runs `body(argument)`. Returns true once it has ended, false when it has suspended itself. `body` must not
    /// throw.
    bool start(Body body, void* argument);
    /// Goes on after `suspend`; returns as `start` does.
    bool resume();
    /// Called by the running body: back to whoever started or resumed it.
    void suspend();
    /// Forgets a suspended body. Its objects are not destroyed: kernels own nothing.
    void discard();

private:
    struct Switching;
    bool enter();

    char* mapping_ = nullptr;
    std::size_t mapping_bytes_ = 0;
    char* stack_ = nullptr;
    std::size_t stack_bytes_ = 0;
    void* context_ = nullptr;  // where the body stands; null: no stack frame yet
    void* caller_ = nullptr;
    Body body_ = nullptr;
    void* argument_ = nullptr;
    bool finished_ = false;
    void* own_fake_stack_ = nullptr;
    void* caller_fake_stack_ = nullptr;
    const void* caller_stack_ = nullptr;
    std::size_t caller_stack_bytes_ = 0;
};

}  // namespace tconv::emulator
