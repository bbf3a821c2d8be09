// zeta, digamma, trigamma, polygamma.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license).
#ifndef SPYRE_KERNELS_SPECIAL_GAMMA_H_
#define SPYRE_KERNELS_SPECIAL_GAMMA_H_

#include "spyre_kernels/special_std.h"

namespace spyre::kernels::special {

template <typename scalar_t>
inline scalar_t zeta(scalar_t x, scalar_t q) {
  using acc_t = scalar_t;
  const acc_t MACHEP = acc_t{1.11022302462515654042E-16};
  constexpr acc_t zero = acc_t{0.0};
  constexpr acc_t half = acc_t{0.5};
  constexpr acc_t one = acc_t{1.0};
  static const acc_t A[] = {
      12.0,
      -720.0,
      30240.0,
      -1209600.0,
      47900160.0,
      -1.8924375803183791606e9, /*1.307674368e12/691*/
      7.47242496e10,
      -2.950130727918164224e12,  /*1.067062284288e16/3617*/
      1.1646782814350067249e14,  /*5.109094217170944e18/43867*/
      -4.5979787224074726105e15, /*8.028576626982912e20/174611*/
      1.8152105401943546773e17,  /*1.5511210043330985984e23/854513*/
      -7.1661652561756670113e18  /*1.6938241367317436694528e27/236364091*/
  };

  acc_t a, b, k, s, t, w;
  if (x == one) {
    return kInfOf<scalar_t>;
  }

  if (x < one) {
    return kNanOf<scalar_t>;
  }

  if (q <= zero) {
    if (q == floor(q)) {
      return kInfOf<scalar_t>;
    }
    if (x != floor(x)) {
      return kNanOf<scalar_t>;
    }
  }

  s = pow(q, -x);
  a = q;
  int i = 0;
  b = zero;
  while ((i < 9) || (a <= acc_t{9.0})) {
    i += 1;
    a += one;
    b = pow(a, -x);
    s += b;
    if ((-MACHEP * s < b) && (b < MACHEP * s)) {
      return static_cast<scalar_t>(s);
    }
  };

  w = a;
  s += b * w / (x - one);
  s -= half * b;
  a = one;
  k = zero;
  for (i = 0; i < 12; i++) {
    a *= x + k;
    b /= w;
    t = a * b / A[i];
    s = s + t;
    t = fabs(t / s);
    if (t < MACHEP) {
      return static_cast<scalar_t>(s);
    }
    k += one;
    a *= x + k;
    b /= w;
    k += one;
  }
  return static_cast<scalar_t>(s);
}

inline double trigamma(double x) {
  double sign = +1;
  double result = 0;
  if (x < 0.5) {
    sign = -1;
    const double sin_pi_x = sin(kPi<double> * x);
    result -= (kPi<double> * kPi<double>) / (sin_pi_x * sin_pi_x);
    x = 1 - x;
  }
  for (int i = 0; i < 6; ++i) {
    result += 1 / (x * x);
    x += 1;
  }
  const double ixx = 1 / (x * x);
  result += (1 + 1 / (2 * x) + ixx * (1. / 6 - ixx * (1. / 30 - ixx * (1. / 42)))) / x;
  return sign * result;
}

inline float trigamma(float x) {
  float sign = +1;
  float result = 0;
  if (x < 0.5f) {
    sign = -1;
    const float sin_pi_x = sin(kPi<float> * x);
    result -= (kPi<float> * kPi<float>) / (sin_pi_x * sin_pi_x);
    x = 1 - x;
  }
  for (int i = 0; i < 6; ++i) {
    result += 1 / (x * x);
    x += 1;
  }
  const float ixx = 1 / (x * x);
  result += (1 + 1 / (2 * x) + ixx * (1.f / 6 - ixx * (1.f / 30 - ixx * (1.f / 42)))) / x;
  return sign * result;
}

inline double calc_digamma(double x) {
  // [C++ Standard Reference: Gamma Function] https://en.cppreference.com/w/cpp/numeric/math/tgamma
  static double PSI_10 = 2.25175258906672110764;
  if (x == 0) {
    return copysign(decltype(x)(kInf32), -x);
  }

  bool x_is_integer = x == trunc(x);
  if (x < 0) {
    if (x_is_integer) {
      return kNanOf<double>;
    }
    double q, r;
    r = modf(x, &q);
    return calc_digamma(1 - x) - kPi<double> / tan(kPi<double> * r);
  }

  // Push x to be >= 10
  double result = 0;
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  if (x == 10) {
    return result + PSI_10;
  }

  // Compute asymptotic digamma
  static const double A[] = {
      8.33333333333333333333E-2,  -2.10927960927960927961E-2, 7.57575757575757575758E-3,
      -4.16666666666666666667E-3, 3.96825396825396825397E-3,  -8.33333333333333333333E-3,
      8.33333333333333333333E-2,
  };

  double y = 0;
  if (x < 1.0e17) {
    double z = 1.0 / (x * x);
    y = z * polevl(z, A, 6);
  }
  return result + log(x) - (0.5 / x) - y;
}

inline float calc_digamma(float x) {
  // See [C++ Standard Reference: Gamma Function]
  static float PSI_10 = 2.25175258906672110764f;
  if (x == 0) {
    return copysign(decltype(x)(kInf32), -x);
  }

  bool x_is_integer = x == trunc(x);
  if (x < 0) {
    if (x_is_integer) {
      return kNanOf<float>;
    }
    double q, r;
    r = modf(x, &q);
    float pi_over_tan_pi_x = (float)(kPi<double> / tan(kPi<double> * r));
    return calc_digamma(1 - x) - pi_over_tan_pi_x;
  }

  // Push x to be >= 10
  float result = 0;
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  if (x == 10) {
    return result + PSI_10;
  }

  // Compute asymptotic digamma
  static const float A[] = {
      8.33333333333333333333E-2f,  -2.10927960927960927961E-2f, 7.57575757575757575758E-3f,
      -4.16666666666666666667E-3f, 3.96825396825396825397E-3f,  -8.33333333333333333333E-3f,
      8.33333333333333333333E-2f,
  };

  float y = 0;
  if (x < 1.0e17f) {
    float z = 1 / (x * x);
    y = z * polevl(z, A, 6);
  }
  return result + log(x) - (0.5f / x) - y;
}

template <typename scalar_t>
inline scalar_t calc_polygamma(scalar_t x, int n) {
  // already blocked if n <= 1
  const auto one = scalar_t{1};
  return ((n % 2) ? one : -one) * exp(lgamma(static_cast<scalar_t>(n) + one)) *
         zeta<scalar_t>(static_cast<scalar_t>(n + 1), x);
}

// regularized lower incomplete gamma
// the regularized lower, upper incomplete gamma, as well as their
// helper functions follow SciPy's implementation

template <typename T>
inline T polygamma(T n, T x) {
  if (n == T(0)) return calc_digamma(x);
  return n == T(1) ? trigamma(x) : calc_polygamma(x, int(n));
}

}  // namespace spyre::kernels::special

namespace spyre::kernels {

SPYRE_LANEWISE_1(digamma, f32, special::calc_digamma)
SPYRE_LANEWISE_1(digamma, f64, special::calc_digamma)
SPYRE_LANEWISE_2(zeta, f32, special::zeta)
SPYRE_LANEWISE_2(zeta, f64, special::zeta)
SPYRE_LANEWISE_2(polygamma, f32, special::polygamma)
SPYRE_LANEWISE_2(polygamma, f64, special::polygamma)

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_GAMMA_H_
