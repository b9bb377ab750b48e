#include "device/emulator/fibre.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>

#include "core/error.hpp"
#include "device/emulator/sanitizer.hpp"

namespace tconv::emulator {
namespace {

namespace context = boost::context::detail;

// Address space only: a page is taken when it is touched. Sanitized frames are several times larger.
constexpr std::size_t k_stack_bytes = sanitizer::enabled ? 512 * 1024 : 128 * 1024;
constexpr std::size_t k_colours = 16;
constexpr std::size_t k_colour_bytes = 192;

}  // namespace

struct Fibre::Switching {
    [[noreturn]] static void main(context::transfer_t from) {
        Fibre* fibre = static_cast<Fibre*>(from.data);
        arrive(*fibre, from);
        for (;;) {
            fibre->body_(fibre->argument_);
            fibre->finished_ = true;
            fibre->suspend();
        }
    }
    static void arrive(Fibre& fibre, context::transfer_t from) {
        fibre.caller_ = from.fctx;
        sanitizer::finish_switch(fibre.own_fake_stack_, &fibre.caller_stack_, &fibre.caller_stack_bytes_);
    }
};

Fibre::Fibre(int colour) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapping_bytes_ = k_stack_bytes + page;
    void* memory =
        mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw Error(ErrorKind::device, "the emulator cannot get memory for another thread's stack");
    mapping_ = static_cast<char*>(memory);
    // Without the guard page (the kernel limits the number of mappings) only the check against overflow is lost.
    static_cast<void>(mprotect(mapping_, page, PROT_NONE));
    stack_ = mapping_ + page;
    stack_bytes_ = k_stack_bytes - static_cast<std::size_t>(colour) % k_colours * k_colour_bytes;
}

Fibre::~Fibre() {
    sanitizer::unpoison(mapping_, mapping_bytes_);
    munmap(mapping_, mapping_bytes_);
}

bool Fibre::start(Body body, void* argument) {
    body_ = body;
    argument_ = argument;
    if (context_ == nullptr) context_ = context::make_fcontext(stack_ + stack_bytes_, stack_bytes_, &Switching::main);
    return enter();
}

bool Fibre::resume() {
    return enter();
}

bool Fibre::enter() {
    finished_ = false;
    sanitizer::start_switch(&caller_fake_stack_, stack_, stack_bytes_);
    const context::transfer_t back = context::jump_fcontext(context_, this);
    sanitizer::finish_switch(caller_fake_stack_, nullptr, nullptr);
    context_ = back.fctx;
    return finished_;
}

void Fibre::suspend() {
    sanitizer::start_switch(&own_fake_stack_, caller_stack_, caller_stack_bytes_);
    Switching::arrive(*this, context::jump_fcontext(caller_, nullptr));
}

void Fibre::discard() {
    context_ = nullptr;
    own_fake_stack_ = nullptr;
    sanitizer::unpoison(stack_, stack_bytes_);
}

}  // namespace tconv::emulator
