// An adjustable wall clock for one program, by LD_PRELOAD. The file CLOCK_OFFSET_FILE contains the seconds to add.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int Clock(clockid_t, struct timespec *);

static long offset(Clock *real) {
  static _Thread_local long seconds, looked = -1;
  struct timespec now;
  real(CLOCK_MONOTONIC, &now);
  long tenth = now.tv_sec * 10 + now.tv_nsec / 100000000;
  if (tenth == looked) return seconds;
  looked = tenth;
  const char *path = getenv("CLOCK_OFFSET_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return seconds;
  char text[32] = {0};
  if (read(file, text, sizeof text - 1) > 0) seconds = atol(text);
  close(file);
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  static Clock *real;
  if (!real) real = (Clock *)dlsym(RTLD_NEXT, "clock_gettime");
  int status = real(clock, time);
  if (status == 0 && clock == CLOCK_REALTIME) time->tv_sec += offset(real);
  return status;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
  struct timespec time;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &time);
  value->tv_sec = time.tv_sec;
  value->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
