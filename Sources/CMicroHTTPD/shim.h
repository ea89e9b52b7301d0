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

// The settings of a daemon. MHD_start_daemon is variadic, so Swift cannot call it.
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

// Leaves targets percent-encoded. The router decodes the parts that it uses.
static inline size_t cmhd_keep_escaped(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

static inline void cmhd_discard_log(void *context, const char *format, va_list arguments) {
  (void)context;
  (void)format;
  (void)arguments;
}

// The parser of version 0.9 accepts requests that version 1.0 can refuse with an option.
static inline int cmhd_is_lenient(void) { return strncmp(MHD_get_version(), "0.", 2) == 0; }

// Cuts the query off the target. libmicrohttpd would otherwise parse it, and close the connection without a
// reply if its memory is too small. The target is in writable memory, and libmicrohttpd searches for the query
// only afterwards.
static inline void cmhd_drop_query(const char *target) {
  const char *query = strchr(target, '?');
  if (query != NULL) ((char *)(uintptr_t)query)[1] = 0;
}

// Starts a daemon without a thread of its own: our loop watches its epoll descriptor. With MHD_USE_TURBO,
// libmicrohttpd does not shut down the socket of an abandoned connection before closing it, so a last reply can
// still be written.
static inline struct MHD_Daemon *_Nullable cmhd_start(const struct cmhd_settings *_Nonnull settings) {
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, settings->on_request,
      settings->context, MHD_OPTION_EXTERNAL_LOGGER, cmhd_discard_log, NULL, MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)settings->connection_memory_limit, MHD_OPTION_CONNECTION_TIMEOUT,
      settings->connection_timeout, MHD_OPTION_STRICT_FOR_CLIENT, cmhd_is_lenient() ? 0 : 1, MHD_OPTION_NOTIFY_COMPLETED,
      settings->on_completed, settings->context, MHD_OPTION_NOTIFY_CONNECTION, settings->on_connection,
      settings->context, MHD_OPTION_URI_LOG_CALLBACK, settings->on_target, settings->context,
      MHD_OPTION_UNESCAPE_CALLBACK, cmhd_keep_escaped, NULL, MHD_OPTION_END);
}

// Accepts a client of a listening socket. Returns 1 if a client was accepted or is already gone, 0 if none
// waits, and -1 if no client can be accepted now.
static inline int cmhd_accept(struct MHD_Daemon *_Nonnull daemon, int listener) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  int client = (int)syscall(
      SYS_accept4, listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client >= 0) {
    // If libmicrohttpd rejects the client, it closes the socket itself.
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
  default:  // an error of this client alone
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
// Returns the size in bytes of the request's head, including its blank line, or 0 if the head is incomplete.
static inline size_t cmhd_head_size(struct MHD_Connection *_Nonnull connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}
// Returns the number of bytes that the socket has received and that are still unread.
static inline int cmhd_unread(int descriptor) {
  int count = 0;
  return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}
static inline void cmhd_set_timeout(struct MHD_Connection *_Nonnull connection, unsigned int seconds) {
  MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
// Ends the response with the end of the connection instead of a last chunk.
static inline void cmhd_end_reply_by_close(struct MHD_Response *_Nonnull response) {
  MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}
// Returns whether the client has sent data since the last data were sent to it.
static inline int cmhd_has_unanswered_bytes(int descriptor) {
  // Linux fills more members than the C library's struct declares.
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
// Returns whether libmicrohttpd waits for this connection's socket. Only such sockets are in its epoll set.
static inline int cmhd_epoll_contains(struct MHD_Daemon *_Nonnull daemon, int descriptor) {
  struct epoll_event nothing;
  memset(&nothing, 0, sizeof nothing);
  int set = cmhd_epoll_descriptor(daemon);
  if (epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &nothing) != 0) return 1;
  epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &nothing);
  return 0;
}
// Adds a connection's socket to the epoll set, as libmicrohttpd 0.9 does, so that libmicrohttpd notices its
// end.
static inline void cmhd_epoll_add(
    struct MHD_Daemon *_Nonnull daemon, struct MHD_Connection *_Nonnull connection, int descriptor) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLET;
  event.data.ptr = connection;
  epoll_ctl(cmhd_epoll_descriptor(daemon), EPOLL_CTL_ADD, descriptor, &event);
}
// Removes the socket from the epoll set. Closing it is not enough: a forked child may still have the
// descriptor, and an event would refer to a freed connection.
static inline void cmhd_epoll_remove(struct MHD_Daemon *_Nonnull daemon, int descriptor) {
  epoll_ctl(cmhd_epoll_descriptor(daemon), EPOLL_CTL_DEL, descriptor, NULL);
}
static const uint64_t cmhd_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t cmhd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t cmhd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;

// Writes the socket address of a numeric address and a port. Returns its length, or 0 if the address is
// invalid.
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

// Returns a listening socket on a numeric address, or -1 with errno set.
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
  // `::` also accepts IPv4, whatever net.ipv6.bindv6only says.
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

// Configures a listening socket that another process has opened. Returns 0 if it is not a listening stream
// socket.
static inline int cmhd_adopt(int descriptor) {
  int type = 0, listens = 0;
  socklen_t length = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) return 0;
  length = sizeof listens;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens) return 0;
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 &&
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0;
}

// Returns the port of a listening socket, -1 for a UNIX socket, or -2 for any other. Writes its numeric address
// or its path to `text`. An abstract name begins with `@` instead of a zero byte (unix(7)), and a socket
// without a name has an empty text.
static inline int cmhd_socket_name(int descriptor, char *_Nonnull text, size_t size) {
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
