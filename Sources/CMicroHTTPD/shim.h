#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#include <microhttpd.h>

// What a server sets of a daemon. MHD_start_daemon is variadic: Swift cannot call it.
struct cmhd_settings {
  int listen_socket;
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

// Driven from outside: no thread of its own, its epoll descriptor in ours.
static inline struct MHD_Daemon *_Nullable cmhd_start(const struct cmhd_settings *_Nonnull settings) {
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, settings->on_request,
      settings->context, MHD_OPTION_EXTERNAL_LOGGER, cmhd_discard_log, NULL, MHD_OPTION_LISTEN_SOCKET,
      settings->listen_socket, MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)settings->connection_memory_limit, MHD_OPTION_CONNECTION_TIMEOUT,
      settings->connection_timeout, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
      settings->on_completed, settings->context, MHD_OPTION_NOTIFY_CONNECTION, settings->on_connection,
      settings->context, MHD_OPTION_URI_LOG_CALLBACK, settings->on_target, settings->context,
      MHD_OPTION_UNESCAPE_CALLBACK, cmhd_leave_escaped, NULL, MHD_OPTION_END);
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
static const uint64_t cmhd_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t cmhd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t cmhd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;

// A listening socket on a numeric address; -1 and errno where that fails.
static inline int cmhd_listen(const char *_Nonnull host, uint16_t port, int backlog) {
  struct sockaddr_storage storage;
  socklen_t length;
  memset(&storage, 0, sizeof storage);
  struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
  if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    length = sizeof *v4;
  } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    length = sizeof *v6;
  } else {
    errno = EINVAL;
    return -1;
  }
  int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  int one = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(descriptor, (struct sockaddr *)&storage, length) != 0 || listen(descriptor, backlog) != 0) {
    int saved = errno;
    close(descriptor);
    errno = saved;
    return -1;
  }
  return descriptor;
}

static inline int cmhd_bound_port(int descriptor) {
  struct sockaddr_storage storage;
  socklen_t length = sizeof storage;
  if (getsockname(descriptor, (struct sockaddr *)&storage, &length) != 0) return -1;
  return ntohs(
      storage.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&storage)->sin6_port
                                    : ((struct sockaddr_in *)&storage)->sin_port);
}
#endif
