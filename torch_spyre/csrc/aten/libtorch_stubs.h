// Include first in files that call ATen's CPU dispatch stubs: their inline code must see the ISA
// list that libtorch was built with.
#pragma once
#if defined(__x86_64__)
#define HAVE_AVX512_CPU_DEFINITION
#define HAVE_AVX2_CPU_DEFINITION
#elif defined(__aarch64__)
#define HAVE_SVE_CPU_DEFINITION
#endif
