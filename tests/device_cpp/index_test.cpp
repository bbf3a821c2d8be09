// The allocator's indexes against plain models.
#include <map>
#include <random>
#include <set>

#include "check.h"
#include "device/address_index.h"
#include "device/free_index.h"

using namespace spyre::device;

TEST(the_bit_tree_agrees_with_a_set) {
  constexpr std::size_t kLimit = 300'000;
  BitTree tree(kLimit);
  std::set<std::size_t> model{0};
  tree.insert(0);
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t number = random() % kLimit;
    if (random() % 3 == 0 && number != 0) {
      const std::size_t gone = *std::prev(model.upper_bound(number));
      if (gone != 0) {
        model.erase(gone);
        tree.erase(gone);
      }
    } else {
      model.insert(number);
      tree.insert(number);
    }
    const std::size_t asked = random() % kLimit;
    CHECK_EQ(tree.last_not_above(asked), *std::prev(model.upper_bound(asked)));
  }
}

TEST(the_free_index_gives_the_best_fit) {
  FreeIndex index;
  std::multimap<std::size_t, Block*> model;
  std::vector<Block> blocks(400);
  std::mt19937_64 random(2);
  for (Block& block : blocks) {
    block.size = kAlignBytes << random() % 25;
    block.size += random() % 64 * kAlignBytes;
    index.insert(&block);
    model.emplace(block.size, &block);
  }
  for (int i = 0; i < 4000; ++i) {
    const std::size_t asked = (1 + random() % 64) * (kAlignBytes << random() % 22);
    const auto expected = model.lower_bound(asked);
    Block* found = index.best_fit(asked);
    CHECK_EQ(found == nullptr, expected == model.end());
    if (found == nullptr) continue;
    CHECK_EQ(found->size, expected->first);
    index.remove(found);
    for (auto entry = expected; entry != model.end(); ++entry) {
      if (entry->second != found) continue;
      model.erase(entry);
      break;
    }
    found->size = kAlignBytes * (1 + random() % 100'000);
    index.insert(found);
    model.emplace(found->size, found);
  }
}

TEST(the_address_index_agrees_with_a_map) {
  constexpr std::size_t kUnits = 20'000;
  const auto* base = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
  AddressIndex index(base, kUnits * kAlignBytes);
  std::map<std::size_t, Block> model;
  std::mt19937 random(3);
  const auto add = [&](std::size_t unit) {
    Block& block = model[unit];
    if (block.address != nullptr) return;
    block.address = const_cast<char*>(base) + unit * kAlignBytes;
    index.insert(&block);
  };
  add(0);
  for (int i = 0; i < 30'000; ++i) {
    const std::size_t unit = random() % kUnits;
    const auto known = model.find(unit);
    if (known == model.end()) {
      if (model.size() < 3000) add(unit);
    } else if (unit != 0) {
      index.erase(&known->second);
      model.erase(known);
    }
    const std::size_t asked = random() % (kUnits * kAlignBytes);
    CHECK(index.holding(base + asked) ==
          &std::prev(model.upper_bound(asked / kAlignBytes))->second);
  }
}
