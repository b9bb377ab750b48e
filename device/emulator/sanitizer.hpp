#pragma once

// AddressSanitizer's view of memory and of stack switches; nothing in builds without it.

#include <cstddef>

#ifdef TCONV_SANITIZE
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tconv::sanitizer {

#ifdef TCONV_SANITIZE
inline constexpr bool enabled = true;
inline void poison(const volatile void* begin, std::size_t bytes) {
    __asan_poison_memory_region(begin, bytes);
}
inline void unpoison(const volatile void* begin, std::size_t bytes) {
    __asan_unpoison_memory_region(begin, bytes);
}
inline void start_switch(void** save, const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(save, bottom, bytes);
}
inline void finish_switch(void* saved, const void** bottom, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(saved, bottom, bytes);
}
#else
inline constexpr bool enabled = false;
inline void poison(const volatile void*, std::size_t) {}
inline void unpoison(const volatile void*, std::size_t) {}
inline void start_switch(void**, const void*, std::size_t) {}
inline void finish_switch(void*, const void**, std::size_t*) {}
#endif

}  // namespace tconv::sanitizer
