// Shifted Chebyshev polynomials of whole order.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license).
#ifndef SPYRE_KERNELS_SPECIAL_SHIFTED_H_
#define SPYRE_KERNELS_SPECIAL_SHIFTED_H_

#include "spyre_kernels/special_std.h"

namespace spyre::kernels::special {

template <typename T>
inline T shifted_chebyshev_polynomial_t_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (x == T(1.0)) {
    return T(1.0);
  }

  if (x == T(0.0)) {
    if (n % 2 == 0) {
      return T(1.0);
    }

    return T(-1.0);
  }

  if ((n > 6) && (abs(x + x - T(1.0)) < T(1.0))) {
    return cos(n * acos(x + x - T(1.0)));
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
    r = (x + x - T(1.0) + (x + x - T(1.0))) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T shifted_chebyshev_polynomial_u_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (x == T(1.0)) {
    return n + 1;
  }

  if (x == T(0.0)) {
    if (n % 2 == 0) {
      return n + 1;
    }

    return -(n + 1);
  }

  if ((n > 6) && (abs(x + x - T(1.0)) < T(1.0))) {
    if (sin(acos(x + x - T(1.0))) != T(0.0)) {
      return sin((n + 1) * acos(x + x - T(1.0))) / sin(acos(x + x - T(1.0)));
    }

    return (n + 1) * cos((n + 1) * acos(x + x - T(1.0))) / (x + x - T(1.0));
  }

  if (n == 0) {
    return T(1.0);
  }

  if (n == 1) {
    return x + x - T(1.0) + (x + x - T(1.0));
  }

  T p = T(1.0);
  T q = x + x - T(1.0) + (x + x - T(1.0));
  T r;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x - T(1.0) + (x + x - T(1.0))) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T shifted_chebyshev_polynomial_v_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (x == T(1.0)) {
    return T(1.0);
  }

  if (x == T(0.0)) {
    if (n % 2 == 0) {
      return (n + n + 1);
    }

    return -(n + n + 1);
  }

  if ((n > 6) && (abs(x + x - T(1.0)) < T(1.0))) {
    if (sin(acos(x + x - T(1.0)) / T(2.0)) != T(1.0)) {
      return cos((n + T(0.5)) * acos(x + x - T(1.0))) / cos(acos(x + x - T(1.0)) / T(2.0));
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
    return x + x - T(1.0) + (x + x - T(1.0)) - T(1.0);
  }

  T p = T(1.0);
  T q = x + x - T(1.0) + (x + x - T(1.0)) - T(1.0);
  T r;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x - T(1.0) + (x + x - T(1.0))) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T shifted_chebyshev_polynomial_w_forward(T x, i64 n) {
  if (n < 0) {
    return T(0.0);
  }

  if (x == T(1.0)) {
    return n + n + 1;
  }

  if (x == T(0.0)) {
    if (n % 2 == 0) {
      return T(1.0);
    }

    return T(-1.0);
  }

  if ((n > 4) && (abs(x + x - T(1.0)) < T(1.0))) {
    if (cos(acos(x + x - T(1.0)) / T(2.0)) != T(1.0)) {
      return sin((n + T(0.5)) * acos(x + x - T(1.0))) / sin(acos(x + x - T(1.0)) / T(2.0));
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
    return x + x - T(1.0) + (x + x - T(1.0)) + T(1.0);
  }

  T p = T(1.0);
  T q = x + x - T(1.0) + (x + x - T(1.0)) + T(1.0);
  T r;

  for (i64 k = 2; (k <= n) && !isnan(q); k++) {
    r = (x + x - T(1.0) + (x + x - T(1.0))) * q - p;
    p = q;
    q = r;
  }

  return r;
}

template <typename T>
inline T shifted_chebyshev_polynomial_t(T x, T n) {
  return shifted_chebyshev_polynomial_t_forward(x, whole_order(n));
}
template <typename T>
inline T shifted_chebyshev_polynomial_u(T x, T n) {
  return shifted_chebyshev_polynomial_u_forward(x, whole_order(n));
}
template <typename T>
inline T shifted_chebyshev_polynomial_v(T x, T n) {
  return shifted_chebyshev_polynomial_v_forward(x, whole_order(n));
}
template <typename T>
inline T shifted_chebyshev_polynomial_w(T x, T n) {
  return shifted_chebyshev_polynomial_w_forward(x, whole_order(n));
}

}  // namespace spyre::kernels::special

namespace spyre::kernels {

SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_t, f32, special::shifted_chebyshev_polynomial_t)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_t, f64, special::shifted_chebyshev_polynomial_t)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_u, f32, special::shifted_chebyshev_polynomial_u)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_u, f64, special::shifted_chebyshev_polynomial_u)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_v, f32, special::shifted_chebyshev_polynomial_v)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_v, f64, special::shifted_chebyshev_polynomial_v)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_w, f32, special::shifted_chebyshev_polynomial_w)
SPYRE_LANEWISE_2(shifted_chebyshev_polynomial_w, f64, special::shifted_chebyshev_polynomial_w)

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_SHIFTED_H_
