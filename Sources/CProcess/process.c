#define _GNU_SOURCE
#include "cprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

static const char *crash_mark;

// Calls only async-signal-safe functions (signal-safety(7)).
static void note_crash(int signal) {
  int file = open(crash_mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  raise(signal);
}

void cprocess_mark_crashes(const char *path) {
  static const int faults[] = {SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
  struct sigaction action = {.sa_handler = note_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};
  crash_mark = strdup(path);
  for (unsigned index = 0; index < sizeof faults / sizeof *faults; index++) sigaction(faults[index], &action, 0);
}

int cprocess_close_from(void *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int cprocess_chdir(void *actions, const char *directory) {
  return posix_spawn_file_actions_addchdir_np(actions, directory);
}

static _Thread_local int is_loop_thread;
void cprocess_become_loop_thread(void) { is_loop_thread = 1; }
int cprocess_is_loop_thread(void) { return is_loop_thread; }
