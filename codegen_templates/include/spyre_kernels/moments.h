// Mean and sum of squared deviations (Welford), and the combination of such triples (Chan).
//
// Deviations are taken from each lane's first point, so that a mean far from zero costs no digits.
#ifndef SPYRE_KERNELS_MOMENTS_H_
#define SPYRE_KERNELS_MOMENTS_H_

#include "spyre_kernels/cascade.h"

namespace spyre::kernels {

// Every step is one more point of each lane.
template <class V>
struct MomentsAlong {
  using T = typename ScalarOf<V>::type;
  V first = all_lanes<V>(T(0)), mean_ = first, m2_ = first;
  T count = 0;

  SPYRE_INLINE void add(const V& x) {
    if (count == T(0)) first = x;
    count += T(1);
    const V shifted = x - first, deviation = shifted - mean_;
    mean_ = mean_ + deviation * all_lanes<V>(T(1) / count);
    m2_ = m2_ + deviation * (shifted - mean_);
  }
  SPYRE_INLINE V mean() const { return first + mean_; }
  SPYRE_INLINE V m2() const { return m2_; }
  SPYRE_INLINE V weight() const { return all_lanes<V>(count); }
};

// A triple (mean, m2, weight), possibly of no points.
template <class V>
struct Moments {
  using T = typename ScalarOf<V>::type;
  V mean, m2, weight;

  static SPYRE_INLINE Moments none() {
    return {all_lanes<V>(T(0)), all_lanes<V>(T(0)), all_lanes<V>(T(0))};
  }
  SPYRE_INLINE void take(const Moments& b) {
    const V zero = all_lanes<V>(T(0));
    const V both = weight + b.weight, deviation = b.mean - mean;
    const V share = where(both == zero, zero, b.weight / both);
    // Equal infinite means have no deviation; inf - inf would be NaN.
    const V step = where(b.mean == mean, zero, deviation);
    mean = mean + where(share == zero, zero, step * share);
    const V between = where((share == zero) | (weight == zero), zero, step * step * weight * share);
    m2 = m2 + b.m2 + between;
    weight = both;
  }
};

// The lanes are points themselves: one running triple per lane and part; `finish` joins them with
// two weighted sums about the common mean instead of a chain of combinations.
template <class T>
struct MomentsAcross {
  using V = Vec<T>;
  V firsts[kParts] = {splat(T(0)), splat(T(0)), splat(T(0)), splat(T(0))};
  V means[kParts] = {splat(T(0)), splat(T(0)), splat(T(0)), splat(T(0))};
  V m2s[kParts] = {splat(T(0)), splat(T(0)), splat(T(0)), splat(T(0))};
  T counts[kParts] = {0, 0, 0, 0};
  Moments<V> tails = Moments<V>::none();  // one tail per row of the outer reduction axes
  T mean_ = 0, m2_ = 0, weight_ = 0;

  SPYRE_INLINE void add(Full, int part, const V& x) {
    if (counts[part] == T(0)) firsts[part] = x;
    counts[part] += T(1);
    const V shifted = x - firsts[part], deviation = shifted - means[part];
    means[part] = means[part] + deviation * splat(T(1) / counts[part]);
    m2s[part] = m2s[part] + deviation * (shifted - means[part]);
  }
  SPYRE_INLINE void add(Tail lanes, int, const V& x) {
    const Mask exists = active(lanes);
    const V zero = splat(T(0));
    tails.take({where(exists, x, zero), zero, where(exists, splat(T(1)), zero)});
  }
  SPYRE_INLINE void finish() {
    const T full = (counts[0] + counts[1]) + (counts[2] + counts[3]);
    weight_ = full * T(kLanes) + fold<Sum>(tails.weight);
    if (weight_ == T(0)) return;
    V sum = tails.mean * tails.weight;
    for (int i = 0; i < kParts; ++i) sum = sum + (firsts[i] + means[i]) * splat(counts[i]);
    mean_ = fold<Sum>(sum) / weight_;
    const V centre = splat(mean_);
    V deviation = tails.mean - centre;
    V spread = where(tails.weight != splat(T(0)), tails.m2 + deviation * deviation * tails.weight,
                     splat(T(0)));
    for (int i = 0; i < kParts; ++i) {
      deviation = (firsts[i] - centre) + means[i];
      spread = spread + where(splat(counts[i] != T(0)),
                              m2s[i] + deviation * deviation * splat(counts[i]), splat(T(0)));
    }
    m2_ = fold<Sum>(spread);
  }
  SPYRE_INLINE T mean() const { return mean_; }
  SPYRE_INLINE T m2() const { return m2_; }
  SPYRE_INLINE T weight() const { return weight_; }
};

template <class V>
struct MomentsCombineAlong {
  Moments<V> all = Moments<V>::none();

  SPYRE_INLINE void add(const V& mean, const V& m2, const V& weight) {
    all.take({mean, m2, weight});
  }
  template <class Other>
  SPYRE_INLINE void join(const Other& b) {
    add(b.mean(), b.m2(), b.weight());
  }
  SPYRE_INLINE V mean() const { return all.mean; }
  SPYRE_INLINE V m2() const { return all.m2; }
  SPYRE_INLINE V weight() const { return all.weight; }
};

// Moments of columns: a block is kRadix groups of rows, since joining blocks takes divisions.
template <class V, int kLevels>
struct ColumnMoments : ColumnCascade<MomentsCombineAlong<V>, kLevels> {
  MomentsAlong<V> blocks[kColumnTile / kLanes];
  i64 groups = 0;

  using ColumnCascade<MomentsCombineAlong<V>, kLevels>::ColumnCascade;
  SPYRE_INLINE MomentsAlong<V> open(i64 at) const { return blocks[at]; }
  SPYRE_INLINE void close(i64 at, const MomentsAlong<V>& rows) { blocks[at] = rows; }
  SPYRE_INLINE void end_group() {
    if (++groups % kRadix == 0) end_block();
  }
  __attribute__((noinline)) void end_block() {
    for (i64 at = 0; at < this->steps; ++at) {
      this->take(at, blocks[at]);
      blocks[at] = {};
    }
    ColumnCascade<MomentsCombineAlong<V>, kLevels>::end_block();
  }
  SPYRE_INLINE MomentsCombineAlong<V> total(i64 at) const {
    MomentsCombineAlong<V> all = ColumnCascade<MomentsCombineAlong<V>, kLevels>::total(at);
    all.join(blocks[at]);
    return all;
  }
};

// As MomentsAlong.
template <class V>
struct LongMomentsAlong {
  MomentsAlong<V> block;
  Cascade<MomentsCombineAlong<V>> blocks;
  MomentsCombineAlong<V> all;

  SPYRE_INLINE void add(const V& x) {
    block.add(x);
    if (block.count == kRadix) end_block();
  }
  SPYRE_INLINE void end_block() {
    blocks.take(block);
    block = {};
  }
  SPYRE_INLINE void finish() {
    end_block();
    all = blocks.total();
  }
  SPYRE_INLINE V mean() const { return all.mean(); }
  SPYRE_INLINE V m2() const { return all.m2(); }
  SPYRE_INLINE V weight() const { return all.weight(); }
};

// As MomentsAcross; end_block() after at most kBlock points.
template <class T>
struct LongMomentsAcross {
  MomentsAcross<T> block;
  Cascade<MomentsCombineAlong<T>> blocks;
  MomentsCombineAlong<T> all;

  template <class Lanes>
  SPYRE_INLINE void add(Lanes lanes, int part, const Vec<T>& x) {
    block.add(lanes, part, x);
  }
  SPYRE_INLINE void end_block() {
    block.finish();
    blocks.take(block);
    block = {};
  }
  SPYRE_INLINE void finish() {
    end_block();
    all = blocks.total();
  }
  SPYRE_INLINE T mean() const { return all.mean(); }
  SPYRE_INLINE T m2() const { return all.m2(); }
  SPYRE_INLINE T weight() const { return all.weight(); }
};

template <class T>
struct MomentsCombineAcross {
  using V = Vec<T>;
  Moments<V> all = Moments<V>::none();

  SPYRE_INLINE void add(Full, int, const V& mean, const V& m2, const V& weight) {
    all.take({mean, m2, weight});
  }
  SPYRE_INLINE void add(Tail lanes, int, const V& mean, const V& m2, const V& weight) {
    const Mask exists = active(lanes);
    const V zero = splat(T(0));
    all.take({where(exists, mean, zero), where(exists, m2, zero), where(exists, weight, zero)});
  }
  template <int kDistance>
  SPYRE_INLINE void fold_by() {
    all.take({exchange<kDistance>(all.mean), exchange<kDistance>(all.m2),
              exchange<kDistance>(all.weight)});
  }
  SPYRE_INLINE void finish() {
    fold_by<8>();
    fold_by<4>();
    fold_by<2>();
    fold_by<1>();
  }
  SPYRE_INLINE T mean() const { return lane(all.mean, 0); }
  SPYRE_INLINE T m2() const { return lane(all.m2, 0); }
  SPYRE_INLINE T weight() const { return lane(all.weight, 0); }
};

}  // namespace spyre::kernels

#endif  // SPYRE_KERNELS_MOMENTS_H_
