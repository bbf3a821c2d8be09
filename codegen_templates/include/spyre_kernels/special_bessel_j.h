// Bessel functions j0, j1, and spherical j0.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license).
#ifndef SPYRE_KERNELS_SPECIAL_BESSEL_J_H_
#define SPYRE_KERNELS_SPECIAL_BESSEL_J_H_

#include "spyre_kernels/special_std.h"

namespace spyre::kernels::special {

template <typename T>
inline T bessel_j0_forward(T x) {
  static const T PP[] = {
      +7.96936729297347051624e-04, +8.28352392107440799803e-02, +1.23953371646414299388e+00,
      +5.44725003058768775090e+00, +8.74716500199817011941e+00, +5.30324038235394892183e+00,
      +9.99999999999999997821e-01,
  };

  static const T PQ[] = {
      +9.24408810558863637013e-04, +8.56288474354474431428e-02, +1.25352743901058953537e+00,
      +5.47097740330417105182e+00, +8.76190883237069594232e+00, +5.30605288235394617618e+00,
      +1.00000000000000000218e+00,
  };

  static const T QP[] = {
      -1.13663838898469149931e-02, -1.28252718670509318512e+00, -1.95539544257735972385e+01,
      -9.32060152123768231369e+01, -1.77681167980488050595e+02, -1.47077505154951170175e+02,
      -5.14105326766599330220e+01, -6.05014350600728481186e+00,
  };

  static const T QQ[] = {
      +6.43178256118178023184e+01, +8.56430025976980587198e+02, +3.88240183605401609683e+03,
      +7.24046774195652478189e+03, +5.93072701187316984827e+03, +2.06209331660327847417e+03,
      +2.42005740240291393179e+02,
  };

  static const T RP[] = {
      -4.79443220978201773821e+09,
      +1.95617491946556577543e+12,
      -2.49248344360967716204e+14,
      +9.70862251047306323952e+15,
  };

  static const T RQ[] = {
      +4.99563147152651017219e+02, +1.73785401676374683123e+05, +4.84409658339962045305e+07,
      +1.11855537045356834862e+10, +2.11277520115489217587e+12, +3.10518229857422583814e+14,
      +3.18121955943204943306e+16, +1.71086294081043136091e+18,
  };

  if (x < T(0)) {
    x = -x;
  }

  if (x <= T(5.0)) {
    if (x < T(0.00001)) {
      return T(1.0) - x * x / T(4.0);
    }

    T rp = 0.0;

    for (int index = 0; index <= 3; index++) {
      rp = rp * (x * x) + RP[index];
    }

    T rq = 0.0;

    for (int index = 0; index <= 7; index++) {
      rq = rq * (x * x) + RQ[index];
    }

    return (x * x - T(5.78318596294678452118e+00)) * (x * x - T(3.04712623436620863991e+01)) * rp /
           rq;
  }

  T pp = 0.0;

  for (int index = 0; index <= 6; index++) {
    pp = pp * (T(25.0) / (x * x)) + PP[index];
  }

  T pq = 0.0;

  for (int index = 0; index <= 6; index++) {
    pq = pq * (T(25.0) / (x * x)) + PQ[index];
  }

  T qp = 0.0;

  for (int index = 0; index <= 7; index++) {
    qp = qp * (T(25.0) / (x * x)) + QP[index];
  }

  T qq = 0.0;

  for (int index = 0; index <= 6; index++) {
    qq = qq * (T(25.0) / (x * x)) + QQ[index];
  }

  return (pp / pq * cos(x - T(0.785398163397448309615660845819875721)) -
          T(5.0) / x * (qp / qq) * sin(x - T(0.785398163397448309615660845819875721))) *
         T(0.797884560802865355879892119868763737) / sqrt(x);
}

template <typename T>
inline T bessel_j1_forward(T x) {
  static const T PP[] = {
      +7.62125616208173112003e-04, +7.31397056940917570436e-02, +1.12719608129684925192e+00,
      +5.11207951146807644818e+00, +8.42404590141772420927e+00, +5.21451598682361504063e+00,
      +1.00000000000000000254e+00,
  };

  static const T PQ[] = {
      +5.71323128072548699714e-04, +6.88455908754495404082e-02, +1.10514232634061696926e+00,
      +5.07386386128601488557e+00, +8.39985554327604159757e+00, +5.20982848682361821619e+00,
      +9.99999999999999997461e-01,
  };

  static const T QP[] = {
      +5.10862594750176621635e-02, +4.98213872951233449420e+00, +7.58238284132545283818e+01,
      +3.66779609360150777800e+02, +7.10856304998926107277e+02, +5.97489612400613639965e+02,
      +2.11688757100572135698e+02, +2.52070205858023719784e+01,
  };

  static const T QQ[] = {
      +7.42373277035675149943e+01, +1.05644886038262816351e+03, +4.98641058337653607651e+03,
      +9.56231892404756170795e+03, +7.99704160447350683650e+03, +2.82619278517639096600e+03,
      +3.36093607810698293419e+02,
  };

  static const T RP[] = {
      -8.99971225705559398224e+08,
      +4.52228297998194034323e+11,
      -7.27494245221818276015e+13,
      +3.68295732863852883286e+15,
  };

  static const T RQ[] = {
      +6.20836478118054335476e+02, +2.56987256757748830383e+05, +8.35146791431949253037e+07,
      +2.21511595479792499675e+10, +4.74914122079991414898e+12, +7.84369607876235854894e+14,
      +8.95222336184627338078e+16, +5.32278620332680085395e+18,
  };

  if (x < T(0.0)) {
    return -bessel_j1_forward(-x);
  }

  if (x <= T(5.0)) {
    T rp = 0.0;

    for (int index = 0; index <= 3; index++) {
      rp = rp * (x * x) + RP[index];
    }

    T rq = 0.0;

    for (int index = 0; index <= 7; index++) {
      rq = rq * (x * x) + RQ[index];
    }

    return rp / rq * x * (x * x - T(1.46819706421238932572e+01)) *
           (x * x - T(4.92184563216946036703e+01));
  }

  T pp = 0.0;

  for (int index = 0; index <= 6; index++) {
    pp = pp * (T(5.0) / x * (T(5.0) / x)) + PP[index];
  }

  T pq = 0.0;

  for (int index = 0; index <= 6; index++) {
    pq = pq * (T(5.0) / x * (T(5.0) / x)) + PQ[index];
  }

  T qp = 0.0;

  for (int index = 0; index <= 7; index++) {
    qp = qp * (T(5.0) / x * (T(5.0) / x)) + QP[index];
  }

  T qq = 0.0;

  for (int index = 0; index <= 6; index++) {
    qq = qq * (T(5.0) / x * (T(5.0) / x)) + QQ[index];
  }

  return (pp / pq * cos(x - T(2.356194490192344928846982537459627163)) -
          T(5.0) / x * (qp / qq) * sin(x - T(2.356194490192344928846982537459627163))) *
         T(0.797884560802865355879892119868763737) / sqrt(x);
}

template <typename T>
inline T spherical_bessel_j0_forward(T x) {
  if (isinf(x)) {
    return T(0.0);
  }

  if (abs(x) < T(0.5)) {
    return T(1.0) +
           x * x *
               (T(-1.0) / T(6.0) +
                x * x *
                    (T(1.0) / T(120.0) +
                     x * x *
                         (T(-1.0) / T(5040.0) +
                          x * x *
                              (T(1.0) / T(362880.0) + x * x *
                                                          (T(-1.0) / T(39916800.0) +
                                                           x * x * (T(1.0) / T(6227020800.0)))))));
  }

  return sin(x) / x;
}

}  // namespace spyre::kernels::special

namespace spyre::kernels {

SPYRE_LANEWISE_1(bessel_j0, f32, special::bessel_j0_forward)
SPYRE_LANEWISE_1(bessel_j0, f64, special::bessel_j0_forward)
SPYRE_LANEWISE_1(bessel_j1, f32, special::bessel_j1_forward)
SPYRE_LANEWISE_1(bessel_j1, f64, special::bessel_j1_forward)
SPYRE_LANEWISE_1(spherical_bessel_j0, f32, special::spherical_bessel_j0_forward)
SPYRE_LANEWISE_1(spherical_bessel_j0, f64, special::spherical_bessel_j0_forward)

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_BESSEL_J_H_
