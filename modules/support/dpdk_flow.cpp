#include "modules/support/dpdk_flow.hpp"

#include <rte_ethdev.h>
#include <rte_flow.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace trama {
namespace {

constexpr uint32_t kBefore = 0, kAfter = 1;  // priorities: a lower number is asked first

using Items = std::vector<rte_flow_item>;

Items headers(std::initializer_list<rte_flow_item_type> types) {
  Items items;
  for (const rte_flow_item_type type : types) items.push_back({type, nullptr, nullptr, nullptr});
  items.push_back({RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr});
  return items;
}

std::vector<Items> kept_headers() {
  std::vector<Items> all;
  for (const rte_flow_item_type ip : {RTE_FLOW_ITEM_TYPE_IPV4, RTE_FLOW_ITEM_TYPE_IPV6}) {
    all.push_back(headers({RTE_FLOW_ITEM_TYPE_ETH, ip}));
    all.push_back(headers({RTE_FLOW_ITEM_TYPE_ETH, RTE_FLOW_ITEM_TYPE_VLAN, ip}));
    all.push_back(headers({RTE_FLOW_ITEM_TYPE_ETH, RTE_FLOW_ITEM_TYPE_VLAN, RTE_FLOW_ITEM_TYPE_VLAN, ip}));
  }
  return all;
}

bool set_rule(uint16_t port, uint32_t priority, const Items& items, const rte_flow_action& action,
              rte_flow_error& error) {
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  attributes.priority = priority;
  const rte_flow_action actions[] = {action, {RTE_FLOW_ACTION_TYPE_END, nullptr}};
  return rte_flow_validate(port, &attributes, items.data(), actions, &error) == 0 &&
         rte_flow_create(port, &attributes, items.data(), actions, &error) != nullptr;
}

bool set_rules(uint16_t port, const rte_flow_action& keep, rte_flow_error& error) {
  for (const Items& items : kept_headers())
    if (!set_rule(port, kBefore, items, keep, error)) return false;
  return set_rule(port, kAfter, headers({RTE_FLOW_ITEM_TYPE_ETH}), {RTE_FLOW_ACTION_TYPE_DROP, nullptr}, error);
}

}  // namespace

Expected<void> keep_only_ip(uint16_t port, uint16_t queues) {
  std::vector<uint16_t> numbers(queues);
  std::iota(numbers.begin(), numbers.end(), uint16_t{0});
  rte_flow_action_rss spread{};
  spread.func = RTE_ETH_HASH_FUNCTION_DEFAULT;
  spread.types = RTE_ETH_RSS_IP;
  spread.queue_num = queues;
  spread.queue = numbers.data();
  const rte_flow_action_queue one{.index = 0};
  const rte_flow_action keep = queues == 1 ? rte_flow_action{RTE_FLOW_ACTION_TYPE_QUEUE, &one}
                                           : rte_flow_action{RTE_FLOW_ACTION_TYPE_RSS, &spread};
  rte_flow_error error{};
  if (set_rules(port, keep, error)) return {};
  const std::string why = error.message ? error.message : "no reason given";
  rte_flow_flush(port, &error);
  return failure(why);
}

}  // namespace trama
