// argmax and argmin: the extreme value and where it stands.
//
// Ties go to the smaller position; a NaN counts as the extreme, the first one wins. Positions are
// compared, so loops may run in any order.
#ifndef SPYRE_KERNELS_POSITION_H_
#define SPYRE_KERNELS_POSITION_H_

#include "spyre_kernels/reduce.h"

namespace spyre::kernels {

struct Greatest {
  template <class T>
  static constexpr T worst = kLowest<T>;
  template <class V>
  static SPYRE_INLINE auto beats(const V& a, const V& b) {
    return a > b;
  }
};
struct Least {
  template <class T>
  static constexpr T worst = kHighest<T>;
  template <class V>
  static SPYRE_INLINE auto beats(const V& a, const V& b) {
    return a < b;
  }
};

// Later than every position; stays only where there is no point at all.
inline constexpr i64 kNoPosition = 0x7fffffffffffffff;

template <class V>
struct PositionOf {
  using type = i64v;
};
template <class V>
  requires(__is_same(V, typename ScalarOf<V>::type))
struct PositionOf<V> {
  using type = i64;
};

SPYRE_INLINE Mask not_(const Mask& m) { return ~m; }
SPYRE_INLINE bool not_(bool b) { return !b; }

// A value with its position, and the better of two.
template <class Which, class V>
struct Placed {
  using T = typename ScalarOf<V>::type;
  using I = typename PositionOf<V>::type;
  V value;
  I position;

  static SPYRE_INLINE Placed none() {
    return {all_lanes<V>(Which::template worst<T>), all_lanes<I>(kNoPosition)};
  }
  // Where `other` is better than this.
  SPYRE_INLINE auto loses_to(const Placed& other) const {
    const auto better = Which::beats(other.value, value);
    const auto earlier = other.position < position;
    if constexpr (kIsFloat<T>) {
      const auto nan = value != value, other_nan = other.value != other.value;
      const auto tie = (other.value == value) | (nan & other_nan);
      return ((better | other_nan) & not_(nan)) | (tie & earlier);
    } else {
      return better | ((other.value == value) & earlier);
    }
  }
  SPYRE_INLINE void take(const Placed& other) {
    const auto other_wins = loses_to(other);
    value = where(other_wins, other.value, value);
    position = where(other_wins, other.position, position);
  }
};

template <class Which, class V>
struct PositionAlong {
  Placed<Which, V> best = Placed<Which, V>::none();

  SPYRE_INLINE void add(const V& value, const typename PositionOf<V>::type& position) {
    best.take({value, position});
  }
  SPYRE_INLINE auto position() const { return best.position; }
};

template <class Which, class T>
struct PositionAcross {
  using V = typename LanesOf<T>::type;
  Placed<Which, V> parts[kParts] = {Placed<Which, V>::none(), Placed<Which, V>::none(),
                                    Placed<Which, V>::none(), Placed<Which, V>::none()};

  SPYRE_INLINE void add(Full, int part, const V& value, const i64v& position) {
    parts[part].take({value, position});
  }
  SPYRE_INLINE void add(Tail lanes, int part, const V& value, const i64v& position) {
    const Mask exists = active(lanes);
    parts[part].take({where(exists, value, splat(Which::template worst<T>)),
                      where(exists, position, splat(kNoPosition))});
  }
  SPYRE_INLINE i64 position() const {
    Placed<Which, V> all = parts[0];
    for (int part = 1; part < kParts; ++part) all.take(parts[part]);
    all.take({exchange<8>(all.value), exchange<8>(all.position)});
    all.take({exchange<4>(all.value), exchange<4>(all.position)});
    all.take({exchange<2>(all.value), exchange<2>(all.position)});
    all.take({exchange<1>(all.value), exchange<1>(all.position)});
    return lane(all.position, 0);
  }
};

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_POSITION_H_
