// For programs only: the walk from the Ethernet header to the IP header, the counters, and the declaration.
//
//   TRAMA_DECLARE(.drop = TRAMA_FILTERED);
//
//   SEC("xdp")
//   int mine(struct xdp_md* context) {
//     const struct trama_packet packet = trama_walk(context);
//     const struct iphdr* const v4 = trama_ipv4(&packet);
//     if (!v4) return trama_done(context, TRAMA_COUNT_UNJUDGED, XDP_DROP);
//     ...
//   }
#pragma once
// clang-format off
#include <linux/bpf.h>  // first: the others need its types
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
// clang-format on
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "trama_filter.h"

#define TRAMA_DECLARE(...)                                                                                             \
  const volatile struct trama_declaration trama_declares SEC(".rodata.trama") = {.version = TRAMA_DECLARATION_VERSION, \
                                                                                 __VA_ARGS__}

// VLAN tags that are stepped over. A packet with more can't be judged.
#define TRAMA_MAX_TAGS 8

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, TRAMA_VERDICTS);
  __type(key, __u32);
  __type(value, struct trama_counter);
} verdicts SEC(".maps");

// Counts the packet and gives the verdict back.
static __always_inline int trama_done(const struct xdp_md* context, __u32 counted_as, int verdict) {
  struct trama_counter* const counter = bpf_map_lookup_elem(&verdicts, &counted_as);
  if (counter) {
    counter->packets++;
    counter->bytes += (long)context->data_end - (long)context->data;
  }
  return verdict;
}

// Where two branches end in the same load, from values of different maps, the compiler makes one load of it, and no
// verifier can tell any more which map it reads. A different `mark` in each branch keeps them apart.
#define TRAMA_KEEP_APART(value, mark) asm volatile("" : "+r"(value) : "i"(mark))

// As struct ethhdr, which is packed: of what may begin anywhere the compiler reads one byte at a time.
struct trama_ethernet {
  __u8 destination[6], source[6];
  __be16 type;
};

struct trama_tag {
  __be16 control, next;
};

// What stands behind Ethernet and its tags.
struct trama_packet {
  const void *at, *end;
  __be16 type;  // ethertype of what stands at `at`; 0: the captured bytes end before it
};

static __always_inline int trama_is_tag(__be16 type) {
  return type == bpf_htons(0x8100) || type == bpf_htons(0x88a8) || type == bpf_htons(0x9100) ||
         type == bpf_htons(0x9200);
}

// Steps over up to TRAMA_MAX_TAGS tags. Other layers that may carry IP (MPLS, PPPoE, LLC/SNAP, ...) are not looked
// into, so that a packet without an IP header here must never be taken for harmless.
static __always_inline struct trama_packet trama_walk(const struct xdp_md* context) {
  struct trama_packet packet = {(void*)(long)context->data, (void*)(long)context->data_end, 0};
  const struct trama_ethernet* const ethernet = packet.at;
  if ((const void*)(ethernet + 1) > packet.end) return packet;
  __be16 type = ethernet->type;
  packet.at = ethernet + 1;
#pragma unroll
  for (int tags = 0; tags < TRAMA_MAX_TAGS; ++tags) {
    const struct trama_tag* const tag = packet.at;
    // Most packets are told by the first comparison.
    if (type == bpf_htons(ETH_P_IP) || !trama_is_tag(type)) break;
    if ((const void*)(tag + 1) > packet.end) return packet;
    type = tag->next;
    packet.at = tag + 1;
  }
  packet.type = type;
  return packet;
}

// The header, of which all fixed bytes are captured; null if it is none, or was cut.
static __always_inline const struct iphdr* trama_ipv4(const struct trama_packet* packet) {
  const struct iphdr* const ip = packet->at;
  if (packet->type != bpf_htons(ETH_P_IP) || (const void*)(ip + 1) > packet->end) return 0;
  // The version is 4, and there are 5 words or more: in one comparison, which is one where packets are many.
  const __u32 version_and_words = *(const __u8*)ip;
  return version_and_words - 0x45 <= 0x4f - 0x45 ? ip : 0;
}

static __always_inline const struct ipv6hdr* trama_ipv6(const struct trama_packet* packet) {
  const struct ipv6hdr* const ip = packet->at;
  if (packet->type != bpf_htons(ETH_P_IPV6) || (const void*)(ip + 1) > packet->end) return 0;
  return ip->version == 6 ? ip : 0;
}
