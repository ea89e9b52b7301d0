// libcurl in a minimal loop: one thread, an epoll, and a handle for each running transfer. The program reads the
// commands of Sources/Commands/Commands.swift.
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, TEXT = 4096 };

typedef struct {
  CURL *handle;
  int file;
} Transfer;

typedef struct {
  CURLM *multi;
  int epoll, failed;
  long timeout;
  long next, count;
  const char *prefix, *directory;
} Loop;

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static size_t write_body(char *bytes, size_t size, size_t count, void *context) {
  Transfer *transfer = context;
  size_t length = size * count, done = 0;
  while (done < length) {
    ssize_t written = write(transfer->file, bytes + done, length - done);
    if (written < 0) return 0;
    done += written;
  }
  return length;
}

static int watch(CURL *handle, curl_socket_t socket, int what, void *context, void *known) {
  Loop *loop = context;
  struct epoll_event event = {.data.fd = socket};
  (void)handle;
  if (what & CURL_POLL_IN) event.events |= EPOLLIN;
  if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, NULL), 0;
  if (epoll_ctl(loop->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event)) return -1;
  curl_multi_assign(loop->multi, socket, loop);
  return 0;
}

static int set_timeout(CURLM *multi, long milliseconds, void *context) {
  (void)multi;
  ((Loop *)context)->timeout = milliseconds;
  return 0;
}

static void start(Loop *loop, Transfer *transfer) {
  char url[TEXT], path[TEXT];
  snprintf(url, TEXT, "%s%ld", loop->prefix, loop->next);
  snprintf(path, TEXT, "%s/%ld", loop->directory, loop->next++);
  transfer->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  curl_easy_setopt(transfer->handle, CURLOPT_URL, url);
  curl_multi_add_handle(loop->multi, transfer->handle);
}

// Removes the ended transfers and starts as many new ones. Returns by how many the running transfers decrease.
static int turn_over(Loop *loop) {
  CURLMsg *message;
  int left, fewer = 0;
  while ((message = curl_multi_info_read(loop->multi, &left))) {
    Transfer *transfer;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    if (message->data.result != CURLE_OK) loop->failed++;
    curl_multi_remove_handle(loop->multi, transfer->handle);
    close(transfer->file);
    if (loop->next < loop->count) start(loop, transfer);
    else fewer++;
  }
  return fewer;
}

static void run(Loop *loop, Transfer *transfers, int at_once) {
  struct epoll_event events[EVENTS];
  int under_way = 0, running;
  for (; under_way < at_once && loop->next < loop->count; under_way++) start(loop, &transfers[under_way]);
  while (under_way > 0) {
    int ready = epoll_wait(loop->epoll, events, EVENTS, loop->timeout);
    if (ready == 0) {
      loop->timeout = -1;
      curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (int i = 0; i < ready; i++) {
      int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                 (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(loop->multi, events[i].data.fd, what, &running);
    }
    under_way -= turn_over(loop);
  }
}

static Transfer *prepare(Loop *loop, int at_once) {
  Transfer *transfers = calloc(at_once, sizeof *transfers);
  loop->multi = curl_multi_init();
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  loop->timeout = -1;
  curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, watch);
  curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
  curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, set_timeout);
  curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
  curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)at_once);
  for (int i = 0; i < at_once; i++) {
    CURL *handle = transfers[i].handle = curl_easy_init();
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfers[i]);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, &transfers[i]);
    curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  }
  return transfers;
}

static void finish(Loop *loop, Transfer *transfers, int at_once) {
  for (int i = 0; i < at_once; i++) curl_easy_cleanup(transfers[i].handle);
  curl_multi_cleanup(loop->multi);
  close(loop->epoll);
  free(transfers);
}

int main(void) {
  char line[3 * TEXT], prefix[TEXT], directory[TEXT];
  int at_once, count;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  while (fgets(line, sizeof line, stdin)) {
    Loop loop = {.prefix = prefix, .directory = directory};
    if (sscanf(line, "many %d %d %4095s %4095s", &at_once, &count, prefix, directory) == 4) {
      Transfer *transfers = prepare(&loop, at_once);
      loop.count = count;
      run(&loop, transfers, at_once);
      printf("%d\n", loop.failed);
      finish(&loop, transfers, at_once);
    } else if (sscanf(line, "each %d %4095s %4095s", &count, prefix, directory) == 3) {
      Transfer *transfers = prepare(&loop, 1);
      while (loop.next < count) {
        double began = seconds();
        loop.count = loop.next + 1;
        run(&loop, transfers, 1);
        printf("%.0f ", (seconds() - began) * 1e6);
        usleep(5000);
      }
      if (loop.failed) return 1;
      putchar('\n');
      finish(&loop, transfers, 1);
    } else {
      return 2;
    }
    fflush(stdout);
  }
  return 0;
}
