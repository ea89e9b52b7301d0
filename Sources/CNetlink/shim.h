#ifndef CNETLINK_SHIM_H
#define CNETLINK_SHIM_H
// The kernel's messages about links, addresses and routes (rtnetlink(7)). The flags are repeated here, because
// their header conflicts with the C library's.
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint32_t cnetlink_iff_up = 1 << 0;
static const uint32_t cnetlink_iff_loopback = 1 << 3;
static const uint32_t cnetlink_iff_running = 1 << 6;
static const uint32_t cnetlink_iff_lower_up = 1 << 16;
#endif
