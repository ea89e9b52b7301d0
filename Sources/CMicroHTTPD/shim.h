#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>
#include <microhttpd.h>

// What a server sets of a daemon. MHD_start_daemon is variadic: Swift cannot call it.
struct cmhd_settings {
  unsigned int connection_limit;
  unsigned int connection_memory_limit;
  unsigned int connection_timeout;
  MHD_AccessHandlerCallback _Nonnull on_request;
  MHD_RequestCompletedCallback _Nonnull on_completed;
  MHD_NotifyConnectionCallback _Nonnull on_connection;
  void *_Nullable (*_Nonnull on_target)(void *_Nullable, const char *_Nonnull, struct MHD_Connection *_Nonnull);
  void *_Nonnull context;
};

// Targets reach the router as they were sent; it decodes what it uses.
static inline size_t cmhd_leave_escaped(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

static inline void cmhd_discard_log(void *context, const char *format, va_list arguments) {
  (void)context;
  (void)format;
  (void)arguments;
}

// The parser of 0.9 forgives what that of 1.0 can be told to refuse.
static inline int cmhd_is_lenient(void) { return strncmp(MHD_get_version(), "0.", 2) == 0; }

// Takes the query away: libmicrohttpd would take it apart, and close the connection without a word where its memory does
// not hold the parts. The target lies in its own memory, and it looks for the query only after this.
static inline void cmhd_drop_query(const char *target) {
  const char *query = strchr(target, '?');
  if (query != NULL) ((char *)(uintptr_t)query)[1] = 0;
}

// Driven from outside: no thread of its own, its epoll descriptor in ours. With MHD_USE_TURBO it leaves a connection that it gives
// up open for writing until it closes the socket, so that there is still time for a last word.
static inline struct MHD_Daemon *_Nullable cmhd_start(const struct cmhd_settings *_Nonnull settings) {
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, settings->on_request,
      settings->context, MHD_OPTION_EXTERNAL_LOGGER, cmhd_discard_log, NULL, MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)settings->connection_memory_limit, MHD_OPTION_CONNECTION_TIMEOUT,
      settings->connection_timeout, MHD_OPTION_STRICT_FOR_CLIENT, cmhd_is_lenient() ? 0 : 1, MHD_OPTION_NOTIFY_COMPLETED,
      settings->on_completed, settings->context, MHD_OPTION_NOTIFY_CONNECTION, settings->on_connection,
      settings->context, MHD_OPTION_URI_LOG_CALLBACK, settings->on_target, settings->context,
      MHD_OPTION_UNESCAPE_CALLBACK, cmhd_leave_escaped, NULL, MHD_OPTION_END);
}

// Takes one client from a listening socket: 1: taken, or gone again; 0: none waits; -1: none can be taken now.
static inline int cmhd_accept(struct MHD_Daemon *_Nonnull daemon, int listener) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  int client = (int)syscall(
      SYS_accept4, listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client >= 0) {
    // Where it does not want the client, it closes the socket itself.
    MHD_add_connection(daemon, client, (struct sockaddr *)&address, length);
    return 1;
  }
  switch (errno) {
  case EAGAIN:
    return 0;
  case EMFILE:
  case ENFILE:
  case ENOBUFS:
  case ENOMEM:
    return -1;
  default:  // of that one client
    return 1;
  }
}

static inline int cmhd_epoll_descriptor(struct MHD_Daemon *_Nonnull daemon) {
  return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}
static inline int cmhd_descriptor(struct MHD_Connection *_Nonnull connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}
static inline void *_Nullable cmhd_socket_context(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}
// Bytes of the request's head, from its method to its blank line; 0 where it is not whole.
static inline size_t cmhd_head_size(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}
// Bytes that have come and were not read.
static inline int cmhd_unread(int descriptor) {
  int count = 0;
  return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}
static inline void cmhd_set_timeout(struct MHD_Connection *_Nonnull connection, unsigned int seconds) {
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
// The end of the connection is the reply's end, and not that of its chunks.
static inline void cmhd_close_behind(struct MHD_Response *_Nonnull response) {
  MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}
// Whether the client has sent something since it was sent something.
static inline int cmhd_is_owed_a_word(int descriptor) {
  // What Linux tells beyond what the C library knows of.
  struct {
    struct tcp_info known;
    uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
    uint32_t segs_out, segs_in, notsent_bytes, min_rtt, data_segs_in, data_segs_out;
  } info;
  memset(&info, 0, sizeof info);
  socklen_t length = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < sizeof info) return 0;
  if (info.data_segs_in == 0 || info.notsent_bytes > 0) return 0;
  return info.data_segs_out == 0 || info.known.tcpi_last_data_recv < info.known.tcpi_last_data_sent;
}
// Whether libmicrohttpd waits for that connection's socket. Only one that it waits for is in its epoll set.
static inline int cmhd_awaits(struct MHD_Daemon *_Nonnull daemon, int descriptor) {
  struct epoll_event nothing;
  memset(&nothing, 0, sizeof nothing);
  int set = cmhd_epoll_descriptor(daemon);
  if (epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &nothing) != 0) return 1;
  epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &nothing);
  return 0;
}
// Puts the socket of a connection there as libmicrohttpd 0.9 does it, so that it hears of the end.
static inline void cmhd_await(
    struct MHD_Daemon *_Nonnull daemon, struct MHD_Connection *_Nonnull connection, int descriptor) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLET;
  event.data.ptr = connection;
  epoll_ctl(cmhd_epoll_descriptor(daemon), EPOLL_CTL_ADD, descriptor, &event);
}
// Takes it away again. To close the socket is not enough: a child that was just forked may still have it, and an event would
// lead to a connection that is gone.
static inline void cmhd_await_no_more(struct MHD_Daemon *_Nonnull daemon, int descriptor) {
  epoll_ctl(cmhd_epoll_descriptor(daemon), EPOLL_CTL_DEL, descriptor, NULL);
}
static const uint64_t cmhd_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t cmhd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t cmhd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;

// The socket address of a numeric address and a port; its length, 0 where it is none.
static inline socklen_t cmhd_address(const char *_Nonnull host, uint16_t port, struct sockaddr_storage *_Nonnull storage) {
  memset(storage, 0, sizeof *storage);
  struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
  if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return sizeof *v4;
  }
  if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return sizeof *v6;
  }
  return 0;
}

// A listening socket on a numeric address; -1 and errno where that fails.
static inline int cmhd_listen(const char *_Nonnull host, uint16_t port, int backlog) {
  struct sockaddr_storage storage;
  socklen_t length = cmhd_address(host, port, &storage);
  if (length == 0) {
    errno = EINVAL;
    return -1;
  }
  int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  int one = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  // All addresses are IPv4's as well, whatever net.ipv6.bindv6only says.
  int zero = 0;
  if (storage.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&((struct sockaddr_in6 *)&storage)->sin6_addr))
    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  if (bind(descriptor, (struct sockaddr *)&storage, length) != 0 || listen(descriptor, backlog) != 0) {
    int saved = errno;
    close(descriptor);
    errno = saved;
    return -1;
  }
  return descriptor;
}

// Makes a socket that another process has opened as one's own would be; 0 where it is no stream socket that listens.
static inline int cmhd_adopt(int descriptor) {
  int type = 0, listens = 0;
  socklen_t length = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) return 0;
  length = sizeof listens;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens) return 0;
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 &&
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0;
}

// Where a socket listens: its port, -1 for a UNIX socket, -2 for any other. `text` gets the numeric address, or the path: empty
// where it has none, with an `@` in the place of a zero byte (unix(7)).
static inline int cmhd_bound_to(int descriptor, char *_Nonnull text, size_t size) {
  struct sockaddr_storage storage;
  socklen_t length = sizeof storage;
  memset(&storage, 0, sizeof storage);
  memset(text, 0, size);
  if (getsockname(descriptor, (struct sockaddr *)&storage, &length) != 0) return -2;
  switch (storage.ss_family) {
  case AF_INET:
    inet_ntop(AF_INET, &((struct sockaddr_in *)&storage)->sin_addr, text, (socklen_t)size);
    return ntohs(((struct sockaddr_in *)&storage)->sin_port);
  case AF_INET6:
    inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&storage)->sin6_addr, text, (socklen_t)size);
    return ntohs(((struct sockaddr_in6 *)&storage)->sin6_port);
  case AF_UNIX: {
    struct sockaddr_un *local = (struct sockaddr_un *)&storage;
    size_t count = length - offsetof(struct sockaddr_un, sun_path);
    if (count > sizeof local->sun_path) count = sizeof local->sun_path;
    if (count >= size) count = size - 1;
    memcpy(text, local->sun_path, count);
    if (count > 0 && text[0] == 0) text[0] = '@';
    return -1;
  }
  default: return -2;
  }
}
#endif
