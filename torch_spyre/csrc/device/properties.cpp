#include "properties.h"

#include <cstdio>
#include <stdexcept>
#include <vector>

#include "options.h"

namespace spyre::device {
namespace {

std::vector<Properties> describe_cards() {
  std::vector<Properties> cards;
  for (int physical : options().visible_cards) {
    Properties card;
    card.name = "Emulated Spyre";
    card.total_memory_bytes = options().memory_bytes;
    char uuid[40];  // "Spyre" in ASCII, then the ordinal of the card on this host
    std::snprintf(uuid, sizeof(uuid), "53707972-6500-4000-8000-%012x", physical);
    card.uuid = uuid;
    cards.push_back(card);
  }
  return cards;
}

}  // namespace

int device_count() { return static_cast<int>(options().visible_cards.size()); }

const Properties& properties(int device) {
  static const auto* const cards = new std::vector<Properties>(describe_cards());  // never freed
  if (device < 0 || device >= static_cast<int>(cards->size())) {
    throw std::out_of_range("invalid device ordinal " + std::to_string(device) + ": there are " +
                            std::to_string(cards->size()) + " Spyre cards");
  }
  return (*cards)[static_cast<std::size_t>(device)];
}

}  // namespace spyre::device
