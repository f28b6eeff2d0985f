// Which sanitizer watches this code: TRAMA_ADDRESS_SANITIZER, TRAMA_THREAD_SANITIZER, 0 or 1. GCC defines macros of its
// own for that, clang answers __has_feature().
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TRAMA_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TRAMA_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TRAMA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRAMA_THREAD_SANITIZER 1
#endif
#endif

#ifndef TRAMA_ADDRESS_SANITIZER
#define TRAMA_ADDRESS_SANITIZER 0
#endif
#ifndef TRAMA_THREAD_SANITIZER
#define TRAMA_THREAD_SANITIZER 0
#endif
