// erfinv, ndtri, ndtr, log_ndtr.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license).
#ifndef SPYRE_KERNELS_SPECIAL_NORMAL_H_
#define SPYRE_KERNELS_SPECIAL_NORMAL_H_

#include "spyre_kernels/special_erfcx.h"

namespace spyre::kernels::special {

template <typename T>
inline T calc_erfinv(T y) {
  /* Function to calculate inverse error function.  Rational approximation
  is used to generate an initial approximation, which is then improved to
  full accuracy by two steps of Newton's method.  Code is a direct
  translation of the erfinv m file in matlab version 2.0.
  Author:  Gary L. Pavlis, Indiana University
  Date:  February 1996
  */
  T x, z, num, dem; /*working variables */
  /* coefficients in rational expansion */
  T a[4] = {T(0.886226899), T(-1.645349621), T(0.914624893), T(-0.140543331)};
  T b[4] = {T(-2.118377725), T(1.442710462), T(-0.329097515), T(0.012229801)};
  T c[4] = {T(-1.970840454), T(-1.624906493), T(3.429567803), T(1.641345311)};
  T d[2] = {T(3.543889200), T(1.637067800)};
  T y_abs = abs(y);
  if (y_abs > 1.0) return kNanOf<T>;
  if (y_abs == 1.0) return copysign(kInfOf<T>, y);
  if (y_abs <= T(0.7)) {
    z = y * y;
    num = (((a[3] * z + a[2]) * z + a[1]) * z + a[0]);
    dem = ((((b[3] * z + b[2]) * z + b[1]) * z + b[0]) * z + static_cast<T>(1.0));
    x = y * num / dem;
  } else {
    z = sqrt(-log((static_cast<T>(1.0) - y_abs) / static_cast<T>(2.0)));
    num = ((c[3] * z + c[2]) * z + c[1]) * z + c[0];
    dem = (d[1] * z + d[0]) * z + static_cast<T>(1.0);
    x = copysign(num, y) / dem;
  }
  /* Two steps of Newton-Raphson correction */
  x = x - (erf(x) - y) / ((static_cast<T>(2.0) * kInverseSqrtPi<T>)*exp(-x * x));
  x = x - (erf(x) - y) / ((static_cast<T>(2.0) * kInverseSqrtPi<T>)*exp(-x * x));

  return x;
}

template <typename T>
inline T calc_ndtri(T y0) {
  /* sqrt(2pi) */
  constexpr T s2pi = 2.50662827463100050242E0;
  constexpr T one = 1;
  constexpr T zero = 0;

  /* approximation for 0 <= |y - 0.5| <= 3/8 */
  static const T P0[5] = {
      -5.99633501014107895267E1, 9.80010754185999661536E1,  -5.66762857469070293439E1,
      1.39312609387279679503E1,  -1.23916583867381258016E0,
  };

  static const T Q0[9] = {
      1.00000000000000000000E0,  1.95448858338141759834E0,  4.67627912898881538453E0,
      8.63602421390890590575E1,  -2.25462687854119370527E2, 2.00260212380060660359E2,
      -8.20372256168333339912E1, 1.59056225126211695515E1,  -1.18331621121330003142E0,
  };

  /* Approximation for interval z = sqrt(-2 log y ) between 2 and 8
   * i.e., y between exp(-2) = .135 and exp(-32) = 1.27e-14.
   */
  static const T P1[9] = {
      4.05544892305962419923E0,   3.15251094599893866154E1,   5.71628192246421288162E1,
      4.40805073893200834700E1,   1.46849561928858024014E1,   2.18663306850790267539E0,
      -1.40256079171354495875E-1, -3.50424626827848203418E-2, -8.57456785154685413611E-4,
  };

  static const T Q1[9] = {
      1.00000000000000000000E0,   1.57799883256466749731E1,   4.53907635128879210584E1,
      4.13172038254672030440E1,   1.50425385692907503408E1,   2.50464946208309415979E0,
      -1.42182922854787788574E-1, -3.80806407691578277194E-2, -9.33259480895457427372E-4,
  };

  /* Approximation for interval z = sqrt(-2 log y ) between 8 and 64
   * i.e., y between exp(-32) = 1.27e-14 and exp(-2048) = 3.67e-890.
   */

  static const T P2[9] = {
      3.23774891776946035970E0,  6.91522889068984211695E0,  3.93881025292474443415E0,
      1.33303460815807542389E0,  2.01485389549179081538E-1, 1.23716634817820021358E-2,
      3.01581553508235416007E-4, 2.65806974686737550832E-6, 6.23974539184983293730E-9,
  };

  static const T Q2[9] = {
      1.00000000000000000000E0,  6.02427039364742014255E0,  3.67983563856160859403E0,
      1.37702099489081330271E0,  2.16236993594496635890E-1, 1.34204006088543189037E-2,
      3.28014464682127739104E-4, 2.89247864745380683936E-6, 6.79019408009981274425E-9,
  };

  if (y0 == zero) {
    return -kInfOf<T>;
  }
  if (y0 == one) {
    return kInfOf<T>;
  }
  if (y0 < zero || y0 > one) {
    return kNanOf<T>;
  }
  bool code = true;
  T y = y0;
  if (y > one - T{0.13533528323661269189}) { /* 0.135... = exp(-2) */
    y = one - y;
    code = false;
  }

  if (y > T{0.13533528323661269189}) {
    y = y - T{0.5};
    const T y2 = y * y;
    T x = y + y * (y2 * polevl(y2, P0, 4) / polevl(y2, Q0, 8));
    return (x * s2pi);
  }

  T x = sqrt(T{-2.0} * log(y));
  const T x0 = x - log(x) / x;

  const T z = one / x;
  T x1;
  if (x < T{8.0}) /* y > exp(-32) = 1.2664165549e-14 */
  {
    x1 = z * polevl(z, P1, 8) / polevl(z, Q1, 8);
  } else {
    x1 = z * polevl(z, P2, 8) / polevl(z, Q2, 8);
  }
  x = x0 - x1;
  if (code) {
    x = -x;
  }
  return x;
}

/* The next function is taken from http://ab-initio.mit.edu/faddeeva */

/* Copyright (c) 2012 Massachusetts Institute of Technology
 *
 * Permission is hereby granted, free of charge, to any person obtaining
 * a copy of this software and associated documentation files (the
 * "Software"), to deal in the Software without restriction, including
 * without limitation the rights to use, copy, modify, merge, publish,
 * distribute, sublicense, and/or sell copies of the Software, and to
 * permit persons to whom the Software is furnished to do so, subject to
 * the following conditions:
 *
 * The above copyright notice and this permission notice shall be
 * included in all copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND,
 * EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
 * MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
 * LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION
 * OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
 * WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */

/* erfcx(x) = exp(x^2) erfc(x) function, for real x, written by
   Steven G. Johnson, October 2012.

   This function combines a few different ideas.

   First, for x > 50, it uses a continued-fraction expansion (same as
   for the Faddeeva function, but with algebraic simplifications for z=i*x).

   Second, for 0 <= x <= 50, it uses Chebyshev polynomial approximations,
   but with two twists:

      a) It maps x to y = 4 / (4+x) in [0,1].  This simple transformation,
         inspired by a similar transformation in the octave-forge/specfun
         erfcx by Soren Hauberg, results in much faster Chebyshev convergence
         than other simple transformations I have examined.

      b) Instead of using a single Chebyshev polynomial for the entire
         [0,1] y interval, we break the interval up into 100 equal
         subintervals, with a switch/lookup table, and use much lower
         degree Chebyshev polynomials in each subinterval. This greatly
         improves performance in my tests.

   For x < 0, we use the relationship erfcx(-x) = 2 exp(x^2) - erfc(x),
   with the usual checks for overflow etcetera.

   Performance-wise, it seems to be substantially faster than either
   the SLATEC DERFC function [or an erfcx function derived there from]
   or Cody's CALERF function (from netlib.org/specfun), while
   retaining near machine precision in accuracy.  */

template <typename T>
inline T calc_log_ndtr(T x) {
  T t = x * T(0.70710678118654752440);
  if (x < T{-1.0}) {
    return log(calc_erfcx(-t) / 2) - t * t;
  } else {
    return log1p(-erfc(t) / 2);
  }
}

template <typename T>
inline T calc_ndtr(T x) {
  return erfc(-x * T(0.70710678118654752440)) * T(0.5);
}

}  // namespace spyre::kernels::special

namespace spyre::kernels {

SPYRE_LANEWISE_1(erfinv, f32, special::calc_erfinv)
SPYRE_LANEWISE_1(erfinv, f64, special::calc_erfinv)
SPYRE_LANEWISE_1(ndtri, f32, special::calc_ndtri)
SPYRE_LANEWISE_1(ndtri, f64, special::calc_ndtri)
SPYRE_LANEWISE_1(ndtr, f32, special::calc_ndtr)
SPYRE_LANEWISE_1(ndtr, f64, special::calc_ndtr)
SPYRE_LANEWISE_1(log_ndtr, f32, special::calc_log_ndtr)
SPYRE_LANEWISE_1(log_ndtr, f64, special::calc_log_ndtr)

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_NORMAL_H_
