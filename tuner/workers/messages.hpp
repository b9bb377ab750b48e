#pragma once

/// The words of the protocol between the command and its workers (docs/workers.md).
namespace tconv::messages {

/// Both sides come from one program, so there is no other version to speak to: a difference is an error.
inline constexpr int k_protocol = 2;

// A worker's greeting.
inline constexpr const char* k_version = "tconv_worker";
inline constexpr const char* k_device = "device";
inline constexpr const char* k_compiler = "compiler";

// Requests.
inline constexpr const char* k_do = "do";
inline constexpr const char* k_compile = "compiling";
inline constexpr const char* k_prepare = "preparing";
inline constexpr const char* k_measure = "measuring";
inline constexpr const char* k_time = "timing in turn";
inline constexpr const char* k_what = "what";

// Notices while a worker is at a request.
inline constexpr const char* k_at = "at";
inline constexpr const char* k_at_run = "a run";
inline constexpr const char* k_at_check = "validation";
inline constexpr const char* k_at_timing = "timing";

// Answers.
inline constexpr const char* k_done = "done";
inline constexpr const char* k_error = "error";
inline constexpr const char* k_device_seconds = "device_seconds";  // of the worker's life

}  // namespace tconv::messages
