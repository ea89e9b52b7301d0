#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Takes the place of the C library's. libdispatch raises the priority of some of its threads (a nice value of -2 or -4), and writes a line
// to the system's log for each that the system refuses, as it does to every process without privileges. Threads of this process only lower
// their priority, whoever runs it: nothing is refused, and root's service behaves as any other.
int setpriority(__priority_which_t which, id_t who, int value) {
  errno = 0;
  int current = getpriority(which, who);
  if (errno == 0 && value <= current) return 0;
  return (int)syscall(SYS_setpriority, which, who, value);
}
