// Orthogonal polynomials of whole order.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license).
#ifndef SPYRE_KERNELS_SPECIAL_POLYNOMIALS_H_
#define SPYRE_KERNELS_SPECIAL_POLYNOMIALS_H_

#include "spyre_kernels/special_std.h"

namespace spyre::kernels::special {

template <typename T>
inline T chebyshev_polynomial_t_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (abs(x) == T(1.0)) {
    if (x > T(0.0) || n % 2 == 0) {
      return T(1.0);
    }

    return T(-1.0);
  }

  if ((n > 6) && (abs(x) < T(1.0))) {
    return cos(n * acos(x));
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x;
  }

  T p = T(1.0);
  T q = x;
  T r = x;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T chebyshev_polynomial_u_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (abs(x) == T(1.0)) {
    if (x > T(0.0) || n % 2 == 0) {
      return n + 1;
    }

    return -(n + 1);
  }

  if ((n > 8) && (abs(x) < T(1.0))) {
    if (sin(acos(x)) != T(0.0)) {
      return sin((n + 1) * acos(x)) / sin(acos(x));
    }

    return (n + 1) * cos((n + 1) * acos(x)) / x;
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x + x;
  }

  T p = T(1.0);
  T q = x + x;
  T r;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T chebyshev_polynomial_v_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (abs(x) == T(1.0)) {
    if (x > T(0.0)) {
      return T(1.0);
    }

    if (n % 2 == 0) {
      return n + n + 1;
    }

    return -(n + n + 1);
  }

  if ((n > 8) && (abs(x) < T(1.0))) {
    if (sin(acos(x) / T(2.0)) != T(1.0)) {
      return cos((n + T(0.5)) * acos(x)) / cos(acos(x) / T(2.0));
    }

    if (n % 2 == 0) {
      return n + n + 1;
    }

    return -(n + n + 1);
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x + x - T(1.0);
  }

  T p = T(1.0);
  T q = x + x - T(1.0);
  T r;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T chebyshev_polynomial_w_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (abs(x) == T(1.0)) {
    if (x > T(0.0)) {
      return n + n + 1;
    }

    if (n % 2 == 0) {
      return T(1.0);
    }

    return T(-1.0);
  }

  if ((n > 8) && (abs(x) < T(1.0))) {
    if (cos(acos(x) / T(2.0)) != T(1.0)) {
      return sin((n + T(0.5)) * acos(x)) / sin(acos(x) / T(2.0));
    }

    if (x > T(0.0)) {
      return n + n + 1;
    }

    if (n % 2 == 0) {
      return T(1.0);
    }

    return T(-1.0);
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x + x + T(1.0);
  }

  T p = T(1.0);
  T q = x + x + T(1.0);
  T r;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline constexpr auto getHermitianLimit() {
  if constexpr (__is_same(T, float)) {
    return 128;
  } else if constexpr (__is_same(T, double)) {
    return 512;
  } else {
    return 1024;
  }
}

template <typename T>
inline T hermite_polynomial_h_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x + x;
  }

  if (n > getHermitianLimit<T>()) {
    return kNanOf<T>;
  }

  T p = T(1.0);
  T q = x + x;
  T r = T(0.0);

  for (i64 k = 2; k < n + n; k += 2) {
    r = (x + x) * q - k * p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T hermite_polynomial_he_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x;
  }

  if (n > getHermitianLimit<T>()) {
    return kNanOf<T>;
  }

  T p = T(1.0);
  T q = x;
  T r;

  for (i64 k = 1; k < n; k++) {
    r = x * q - k * p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T laguerre_polynomial_l_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (abs(x) == T(0.0)) {
    return T(1.0);
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return T(1.0) - x;
  }

  T p = T(1.0);
  T q = T(1.0) - x;
  T r;

  for (i64 k = 1; (k < n) && !isnan(q); k++) {
    r = (((k + k) + (T(1.0) - x)) * q - k * p) / (k + 1);
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T legendre_polynomial_p_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (abs(x) == T(1.0)) {
    if (x > T(0.0) || n % 2 == 0) {
      return T(1.0);
    }

    return T(-1.0);
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x;
  }

  T p = T(1.0);
  T q = x;
  T r;

  for (i64 k = 1; (k < n) && !isnan(q); k++) {
    r = ((k + k + 1) * x * q - k * p) / (k + 1);
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T chebyshev_polynomial_t(T x, T n) {
  return chebyshev_polynomial_t_forward(x, whole_order(n));
}
template <typename T>
inline T chebyshev_polynomial_u(T x, T n) {
  return chebyshev_polynomial_u_forward(x, whole_order(n));
}
template <typename T>
inline T chebyshev_polynomial_v(T x, T n) {
  return chebyshev_polynomial_v_forward(x, whole_order(n));
}
template <typename T>
inline T chebyshev_polynomial_w(T x, T n) {
  return chebyshev_polynomial_w_forward(x, whole_order(n));
}
template <typename T>
inline T hermite_polynomial_h(T x, T n) {
  return hermite_polynomial_h_forward(x, whole_order(n));
}
template <typename T>
inline T hermite_polynomial_he(T x, T n) {
  return hermite_polynomial_he_forward(x, whole_order(n));
}
template <typename T>
inline T laguerre_polynomial_l(T x, T n) {
  return laguerre_polynomial_l_forward(x, whole_order(n));
}
template <typename T>
inline T legendre_polynomial_p(T x, T n) {
  return legendre_polynomial_p_forward(x, whole_order(n));
}

}  // namespace spyre::kernels::special

namespace spyre::kernels {

SPYRE_LANEWISE_2(chebyshev_polynomial_t, f32, special::chebyshev_polynomial_t)
SPYRE_LANEWISE_2(chebyshev_polynomial_t, f64, special::chebyshev_polynomial_t)
SPYRE_LANEWISE_2(chebyshev_polynomial_u, f32, special::chebyshev_polynomial_u)
SPYRE_LANEWISE_2(chebyshev_polynomial_u, f64, special::chebyshev_polynomial_u)
SPYRE_LANEWISE_2(chebyshev_polynomial_v, f32, special::chebyshev_polynomial_v)
SPYRE_LANEWISE_2(chebyshev_polynomial_v, f64, special::chebyshev_polynomial_v)
SPYRE_LANEWISE_2(chebyshev_polynomial_w, f32, special::chebyshev_polynomial_w)
SPYRE_LANEWISE_2(chebyshev_polynomial_w, f64, special::chebyshev_polynomial_w)
SPYRE_LANEWISE_2(hermite_polynomial_h, f32, special::hermite_polynomial_h)
SPYRE_LANEWISE_2(hermite_polynomial_h, f64, special::hermite_polynomial_h)
SPYRE_LANEWISE_2(hermite_polynomial_he, f32, special::hermite_polynomial_he)
SPYRE_LANEWISE_2(hermite_polynomial_he, f64, special::hermite_polynomial_he)
SPYRE_LANEWISE_2(laguerre_polynomial_l, f32, special::laguerre_polynomial_l)
SPYRE_LANEWISE_2(laguerre_polynomial_l, f64, special::laguerre_polynomial_l)
SPYRE_LANEWISE_2(legendre_polynomial_p, f32, special::legendre_polynomial_p)
SPYRE_LANEWISE_2(legendre_polynomial_p, f64, special::legendre_polynomial_p)

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_POLYNOMIALS_H_
