// One packet in a TPACKET_V3 ring (linux/if_packet.h; Documentation/networking/packet_mmap.rst), as a Packet.
//
// The kernel takes the outermost VLAN tag off every frame and tells it beside. Here it is put back, so that filters,
// ranges and the header walk see what was on the wire. Devices whose own link header says nothing of use, or is none
// at all, get the header of LINKTYPE_LINUX_SLL instead, as tcpdump does it. Both need room in front of the frame.
#pragma once
#include <cstdint>

#include "modules/support/packet.hpp"

namespace trama {

// What PACKET_RESERVE has to ask for. A multiple of 16 leaves the kernel's alignment as it is.
inline constexpr uint32_t kFrameReserveBytes = 32;

// The LINKTYPE_ number of what a device of this kind (ARPHRD_ number, linux/if_arp.h) hands out; LINKTYPE_LINUX_SLL for
// those that get its header here. tests/modules/support/packet_socket_frame_test.cpp has the kinds.
uint16_t link_type_of(uint16_t hardware_type);

// `frame` is a tpacket3_hdr, with what belongs to it. Writes only between it and its packet, and the packet's first
// bytes. Once a frame.
Packet packet_of(uint8_t* frame) noexcept;

}  // namespace trama
