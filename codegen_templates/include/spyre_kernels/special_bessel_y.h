// Bessel functions y0, y1.
//
// Source: PyTorch, ATen/native/Math.h, which derives it from the Cephes Math Library (Copyright (c)
// 2018 Steven Moshier, 3-clause BSD license).
#ifndef SPYRE_KERNELS_SPECIAL_BESSEL_Y_H_
#define SPYRE_KERNELS_SPECIAL_BESSEL_Y_H_

#include "spyre_kernels/special_bessel_j.h"

namespace spyre::kernels::special {

template <typename T>
inline T bessel_y0_forward(T x) {
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

  static const T YP[] = {
      +1.55924367855235737965e+04, -1.46639295903971606143e+07, +5.43526477051876500413e+09,
      -9.82136065717911466409e+11, +8.75906394395366999549e+13, -3.46628303384729719441e+15,
      +4.42733268572569800351e+16, -1.84950800436986690637e+16,
  };

  static const T YQ[] = {
      +1.04128353664259848412e+03, +6.26107330137134956842e+05, +2.68919633393814121987e+08,
      +8.64002487103935000337e+10, +2.02979612750105546709e+13, +3.17157752842975028269e+15,
      +2.50596256172653059228e+17,
  };

  if (x <= T(5.0)) {
    if (x == T(0.0)) {
      return -kInfOf<T>;
    }

    if (x < T(0.0)) {
      return kNanOf<T>;
    }

    T yp = 0.0;

    for (int index = 0; index <= 7; index++) {
      yp = yp * (x * x) + YP[index];
    }

    T yq = 0.0;

    for (int index = 0; index <= 6; index++) {
      yq = yq * (x * x) + YQ[index];
    }

    return yp / yq + (T(0.636619772367581343075535053490057448) * log(x) * bessel_j0_forward(x));
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

  return (pp / pq * sin(x - T(0.785398163397448309615660845819875721)) +
          T(5.0) / x * (qp / qq) * cos(x - T(0.785398163397448309615660845819875721))) *
         T(0.797884560802865355879892119868763737) / sqrt(x);
}

template <typename T>
inline T bessel_y1_forward(T x) {
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

  static const T YP[] = {
      +1.26320474790178026440e+09, -6.47355876379160291031e+11, +1.14509511541823727583e+14,
      -8.12770255501325109621e+15, +2.02439475713594898196e+17, -7.78877196265950026825e+17,
  };

  static const T YQ[] = {
      +5.94301592346128195359e+02, +2.35564092943068577943e+05, +7.34811944459721705660e+07,
      +1.87601316108706159478e+10, +3.88231277496238566008e+12, +6.20557727146953693363e+14,
      +6.87141087355300489866e+16, +3.97270608116560655612e+18,
  };

  if (x <= T(5.0)) {
    if (x == T(0.0)) {
      return -kInfOf<T>;
    }

    if (x <= T(0.0)) {
      return kNanOf<T>;
    }

    T yp = 0.0;

    for (int index = 0; index <= 5; index++) {
      yp = yp * (x * x) + YP[index];
    }

    T yq = 0.0;

    for (int index = 0; index <= 7; index++) {
      yq = yq * (x * x) + YQ[index];
    }

    return x * (yp / yq) + (T(0.636619772367581343075535053490057448) *
                            (bessel_j1_forward(x) * log(x) - T(1.0) / x));
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

  return (pp / pq * sin(x - T(2.356194490192344928846982537459627163)) +
          T(5.0) / x * (qp / qq) * cos(x - T(2.356194490192344928846982537459627163))) *
         T(0.797884560802865355879892119868763737) / sqrt(x);
}

}  // namespace spyre::kernels::special

namespace spyre::kernels {

SPYRE_LANEWISE_1(bessel_y0, f32, special::bessel_y0_forward)
SPYRE_LANEWISE_1(bessel_y0, f64, special::bessel_y0_forward)
SPYRE_LANEWISE_1(bessel_y1, f32, special::bessel_y1_forward)
SPYRE_LANEWISE_1(bessel_y1, f64, special::bessel_y1_forward)

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_SPECIAL_BESSEL_Y_H_
