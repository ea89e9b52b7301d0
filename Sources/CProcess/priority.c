#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Replaces the C library's setpriority(). libdispatch raises the priority of some of its threads (a nice value
// of -2 or -4). Without privileges the kernel refuses that, and libdispatch logs each refusal. This function
// ignores every raise, also for root, so that nothing is refused and all users' services behave alike.
int setpriority(__priority_which_t which, id_t who, int value) {
  errno = 0;
  int current = getpriority(which, who);
  if (errno == 0 && value <= current) return 0;
  return (int)syscall(SYS_setpriority, which, who, value);
}
