// Series and continued fraction of the incomplete gamma functions.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license), SciPy and Boost.
#ifndef SPYRE_KERNELS_SPECIAL_IGAMMA_SERIES_H_
#define SPYRE_KERNELS_SPECIAL_IGAMMA_SERIES_H_

#include "spyre_kernels/special_igamma_table.h"

namespace spyre::kernels::special {

template <typename scalar_t>
inline scalar_t ratevl(scalar_t x, const scalar_t num[], i64 M, const scalar_t denom[], i64 N) {
  // evaluating rational function, i.e., the ratio of two polynomials
  // the coefficients for numerator are given by `num` while coeffs for
  // denumerator are given by `denom`

  i64 i, dir;
  scalar_t y, num_ans, denom_ans;
  scalar_t absx = fabs(x);
  const scalar_t* p;

  if (absx > 1) {
    /* Evaluate as a polynomial in 1/x. */
    dir = -1;
    p = num + M;
    y = 1 / x;
  } else {
    dir = 1;
    p = num;
    y = x;
  }

  /* Evaluate the numerator */
  num_ans = *p;
  p += dir;
  for (i = 1; i <= M; i++) {
    num_ans = num_ans * y + *p;
    p += dir;
  }
  /* Evaluate the denominator */
  if (absx > 1) {
    p = denom + N;
  } else {
    p = denom;
  }

  denom_ans = *p;
  p += dir;
  for (i = 1; i <= N; i++) {
    denom_ans = denom_ans * y + *p;
    p += dir;
  }
  if (absx > 1) {
    i = N - M;
    return pow(x, i) * num_ans / denom_ans;
  } else {
    return num_ans / denom_ans;
  }
}

// SciPy's lanczos implementation is taken from Boost
/* (C) Copyright John Maddock 2006.
 * Use, modification and distribution are subject to the
 * Boost Software License, Version 1.0. See
 * https://www.boost.org/LICENSE_1_0.txt or see NOTICE.
 */
template <typename scalar_t>
inline scalar_t lanczos_sum_expg_scaled(scalar_t x) {
  // lanczos approximation
  static constexpr scalar_t lanczos_sum_expg_scaled_num[13] = {
      0.006061842346248906525783753964555936883222, 0.5098416655656676188125178644804694509993,
      19.51992788247617482847860966235652136208,    449.9445569063168119446858607650988409623,
      6955.999602515376140356310115515198987526,    75999.29304014542649875303443598909137092,
      601859.6171681098786670226533699352302507,    3481712.15498064590882071018964774556468,
      14605578.08768506808414169982791359218571,    43338889.32467613834773723740590533316085,
      86363131.28813859145546927288977868422342,    103794043.1163445451906271053616070238554,
      56906521.91347156388090791033559122686859};
  static constexpr scalar_t lanczos_sum_expg_scaled_denom[13] = {
      1.,        66.,        1925.,      32670.,     357423.,   2637558., 13339535.,
      45995730., 105258076., 150917976., 120543840., 39916800., 0.};
  return ratevl(
      x, lanczos_sum_expg_scaled_num,
      sizeof(lanczos_sum_expg_scaled_num) / sizeof(lanczos_sum_expg_scaled_num[0]) - 1,
      lanczos_sum_expg_scaled_denom,
      sizeof(lanczos_sum_expg_scaled_denom) / sizeof(lanczos_sum_expg_scaled_denom[0]) - 1);
}

template <typename scalar_t>
inline scalar_t igam_helper_fac(scalar_t a, scalar_t x) {
  // compute x^a * exp(-a) / gamma(a)
  // corrected from (15) and (16) in [igam2] by replacing exp(x - a) with
  // exp(a - x).

  scalar_t ax, fac, res, num, numfac;
  static scalar_t MAXLOG =
      __is_same(scalar_t, double) ? 7.09782712893383996843E2 : 88.72283905206835;
  static scalar_t EXP1 = 2.718281828459045;
  static scalar_t lanczos_g = 6.024680040776729583740234375;

  if (fabs(a - x) > 0.4 * fabs(a)) {
    ax = a * log(x) - x - lgamma(a);
    if (ax < -MAXLOG) {
      return 0.0;
    }
    return exp(ax);
  }

  fac = a + lanczos_g - 0.5;
  res = sqrt(fac / EXP1) / lanczos_sum_expg_scaled(a);

  if ((a < 200) && (x < 200)) {
    res *= exp(a - x) * pow(x / fac, a);
  } else {
    num = x - a - lanczos_g + 0.5;
    numfac = num / fac;
    res *= exp(a * (log1p(numfac) - numfac) + x * (0.5 - lanczos_g) / fac);
  }
  return res;
}

template <typename scalar_t>
inline scalar_t igam_helper_series(scalar_t a, scalar_t x) {
  // Compute igam using DLMF 8.11.4. [igam1]
  static scalar_t MACHEP =
      __is_same(scalar_t, double) ? 1.11022302462515654042E-16 : 5.9604644775390625E-8;
  static int MAXITER = 2000;

  int i;
  scalar_t ans, ax, c, r;

  ax = igam_helper_fac(a, x);
  if (ax == 0.0) {
    return 0.0;
  }

  /* power series */
  r = a;
  c = 1.0;
  ans = 1.0;

  for (i = 0; i < MAXITER; i++) {
    r += 1.0;
    c *= x / r;
    ans += c;
    if (c <= MACHEP * ans) {
      break;
    }
  }
  return (ans * ax / a);
}

template <typename scalar_t>
inline scalar_t igamc_helper_series(scalar_t a, scalar_t x) {
  // Compute igamc using DLMF 8.7.3 [igam1]. This is related to the series in
  // igam_helper_series but extra care is taken to avoid cancellation.

  int n;
  scalar_t fac = 1;
  scalar_t sum = 0;
  scalar_t term, logx;
  static scalar_t MAXITER = 2000;
  static scalar_t MACHEP =
      __is_same(scalar_t, double) ? 1.11022302462515654042E-16 : 5.9604644775390625E-8;

  for (n = 1; n < MAXITER; n++) {
    fac *= -x / n;
    term = fac / (a + n);
    sum += term;
    if (fabs(term) <= MACHEP * fabs(sum)) {
      break;
    }
  }

  logx = log(x);
  term = -expm1(a * logx - lgamma(1 + a));
  return term - exp(a * logx - lgamma(a)) * sum;
}

template <typename scalar_t>
inline scalar_t igam_helper_asymptotic_series(scalar_t a, scalar_t x, bool igam) {
  // Compute igam/igamc using DLMF 8.12.3/8.12.4 [igam1]
  const auto& d = kAsymptotic<scalar_t>;

  int k, n, sgn;
  int maxpow = 0;
  static scalar_t MACHEP =
      __is_same(scalar_t, double) ? 1.11022302462515654042E-16 : 5.9604644775390625E-8;
  scalar_t lambda = x / a;
  scalar_t sigma = (x - a) / a;
  scalar_t eta, res, ck, ckterm, term, absterm;
  scalar_t absoldterm = kInf32;
  scalar_t etapow[25] = {1};
  scalar_t sum = 0;
  scalar_t afac = 1;

  if (igam) {
    sgn = -1;
  } else {
    sgn = 1;
  }

  if (lambda > 1) {
    eta = sqrt(-2 * (log1p(sigma) - sigma));
  } else if (lambda < 1) {
    eta = -sqrt(-2 * (log1p(sigma) - sigma));
  } else {
    eta = 0;
  }
  res = 0.5 * erfc(sgn * eta * sqrt(a / 2));

  for (k = 0; k < 25; k++) {
    ck = d[k][0];
    for (n = 1; n < 25; n++) {
      if (n > maxpow) {
        etapow[n] = eta * etapow[n - 1];
        maxpow += 1;
      }
      ckterm = d[k][n] * etapow[n];
      ck += ckterm;
      if (fabs(ckterm) < MACHEP * fabs(ck)) {
        break;
      }
    }
    term = ck * afac;
    absterm = fabs(term);
    if (absterm > absoldterm) {
      break;
    }
    sum += term;
    if (absterm < MACHEP * fabs(sum)) {
      break;
    }
    absoldterm = absterm;
    afac /= a;
  }
  res += sgn * exp(-0.5 * a * eta * eta) * sum / sqrt(2 * kPi<float> * a);

  return res;
}

template <typename scalar_t>
inline scalar_t igamc_helper_continued_fraction(scalar_t a, scalar_t x) {
  // Compute igamc using DLMF 8.9.2. [igam1]
  int i;
  scalar_t ans, ax, c, yc, r, t, y, z;
  scalar_t pk, pkm1, pkm2, qk, qkm1, qkm2;
  int MAXITER = 2000;
  static scalar_t MACHEP =
      __is_same(scalar_t, double) ? 1.11022302462515654042E-16 : 5.9604644775390625E-8;
  static scalar_t BIG = __is_same(scalar_t, double) ? 4.503599627370496e15 : 16777216.;
  static scalar_t BIGINV =
      __is_same(scalar_t, double) ? 2.22044604925031308085e-16 : 5.9604644775390625E-8;

  ax = igam_helper_fac(a, x);
  if (ax == 0.0) {
    return 0.0;
  }

  /* continued fraction */
  y = 1.0 - a;
  z = x + y + 1.0;
  c = 0.0;
  pkm2 = 1.0;
  qkm2 = x;
  pkm1 = x + 1.0;
  qkm1 = z * x;
  ans = pkm1 / qkm1;

  for (i = 0; i < MAXITER; i++) {
    c += 1.0;
    y += 1.0;
    z += 2.0;
    yc = y * c;
    pk = pkm1 * z - pkm2 * yc;
    qk = qkm1 * z - qkm2 * yc;
    if (qk != 0) {
      r = pk / qk;
      t = fabs((ans - r) / r);
      ans = r;
    } else {
      t = 1.0;
    }
    pkm2 = pkm1;
    pkm1 = pk;
    qkm2 = qkm1;
    qkm1 = qk;
    if (fabs(pk) > BIG) {
      pkm2 *= BIGINV;
      pkm1 *= BIGINV;
      qkm2 *= BIGINV;
      qkm1 *= BIGINV;
    }
    if (t <= MACHEP) {
      break;
    }
  }
  return ans * ax;
}

}  // namespace spyre::kernels::special

#endif
