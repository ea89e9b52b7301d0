#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H
// Linux calls, and calls that need _GNU_SOURCE. Swift's Glibc module lacks both.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

/// preadv2(2) with RWF_NOWAIT: fails with EAGAIN if the bytes are not in the page cache.
static inline ssize_t clinux_pread_nowait(int descriptor, void *_Nonnull buffer, size_t count, off_t offset) {
  struct iovec vector = {.iov_base = buffer, .iov_len = count};
  return syscall(SYS_preadv2, descriptor, &vector, 1, (long)offset, 0L, 8 /* RWF_NOWAIT */);
}

/// renameat2(2) with RENAME_NOREPLACE: fails with EEXIST if the new name exists, and with EINVAL if the file
/// system does not support the flag.
static inline int clinux_rename_new(int directory, const char *_Nonnull path, const char *_Nonnull new_path) {
  return (int)syscall(SYS_renameat2, directory, path, directory, new_path, 1U /* RENAME_NOREPLACE */);
}

/// openat2(2) with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS: opens a path below a directory
/// and follows no symbolic link. Fails with ENOSYS before Linux 5.6.
static inline int clinux_open_beneath(int directory, const char *_Nonnull path, int flags, mode_t mode) {
  struct {
    uint64_t flags, mode, resolve;
  } how = {(uint64_t)(unsigned)flags, (flags & O_CREAT) ? mode : 0, 0x08 | 0x04 | 0x02};
  int descriptor;
  // A rename elsewhere during the walk causes EAGAIN.
  for (int attempt = 0; attempt < 100; attempt++) {
    descriptor = (int)syscall(437 /* SYS_openat2 */, directory, path, &how, sizeof how);
    if (descriptor >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return descriptor;
}

/// copy_file_range(2): copies bytes inside the kernel, or shares them if the file system can.
static inline ssize_t clinux_copy_range(int source, off_t from, int target, off_t to, size_t count) {
  int64_t in = from, out = to;
  return syscall(SYS_copy_file_range, source, &in, target, &out, count, 0U);
}

/// Returns 1 if this descriptor is the only one of its file. Returns 0 if another exists or the answer is
/// unknown. The kernel grants a write lease only for such a file of the same user (fcntl(2), F_SETLEASE). A
/// process that opens the file meanwhile causes SIGURG, which is ignored by default.
static inline int clinux_is_open_once(int descriptor) {
  if (fcntl(descriptor, 10 /* F_SETSIG */, SIGURG) != 0) return 0;
  if (fcntl(descriptor, 1024 /* F_SETLEASE */, F_WRLCK) != 0) return 0;
  fcntl(descriptor, 1024, F_UNLCK);
  return 1;
}

/// memfd_create(2): creates a file in memory without a name, which ends with its last descriptor.
static inline int clinux_memory_file(const char *_Nonnull label) {
  return (int)syscall(SYS_memfd_create, label, 1U /* MFD_CLOEXEC */);
}

/// open(2) with O_PATH: opens a directory, readable or not, in order to use names in it.
static inline int clinux_open_directory_path(const char *_Nonnull path) {
  return open(path, O_DIRECTORY | O_CLOEXEC | 010000000 /* O_PATH */);
}

/// fcntl(2) with F_OFD_SETLK: locks a byte for this open file, or returns -1 if another open file has locked
/// it.
static inline int clinux_lock_byte(int descriptor, off_t offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}

/// fcntl(2) with F_OFD_GETLK: returns 1 if another open file has locked the byte, and otherwise 0, without
/// locking it.
static inline int clinux_is_byte_locked(int descriptor, off_t offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  if (fcntl(descriptor, 36 /* F_OFD_GETLK */, &lock) != 0) return -1;
  return lock.l_type != F_UNLCK;
}

/// fcntl(2) with F_OFD_SETLK: locks `count` bytes, or returns -1 without a lock if another open file has locked
/// any of them.
static inline int clinux_lock_bytes(int descriptor, off_t offset, off_t count) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = count};
  return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}

/// fcntl(2) with F_OFD_SETLKW: waits for a byte and locks it.
static inline int clinux_lock_byte_waiting(int descriptor, off_t offset) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  return fcntl(descriptor, 38 /* F_OFD_SETLKW */, &lock);
}

/// fcntl(2) with F_OFD_SETLK: shares the lock of a byte with other open files, or returns -1 if one has an
/// exclusive lock.
static inline int clinux_share_byte(int descriptor, off_t offset) {
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}

/// fcntl(2) with F_OFD_GETLK: returns 1 if another open file has a lock, shared or not, on any of `count`
/// bytes, and otherwise 0.
static inline int clinux_are_bytes_locked(int descriptor, off_t offset, off_t count) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = count};
  if (fcntl(descriptor, 36 /* F_OFD_GETLK */, &lock) != 0) return -1;
  return lock.l_type != F_UNLCK;
}

/// fcntl(2) with F_OFD_SETLK: unlocks a byte.
static inline int clinux_unlock_byte(int descriptor, off_t offset) {
  struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
  return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}

/// Names the calling thread. The limit is 15 bytes.
static inline void clinux_set_thread_name(const char *_Nonnull name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE: starts to write the range to disk, without waiting.
static inline void clinux_start_writeback(int descriptor, off_t offset, off_t count) {
  syscall(SYS_sync_file_range, descriptor, (long)offset, (long)count, 2 /* SYNC_FILE_RANGE_WRITE */);
}

/// Flags of send(2) under unique names. Several modules of this program include their header, and Swift
/// attributes the system's names to the module that it reads first.
static const int clinux_no_signal = MSG_NOSIGNAL;
static const int clinux_no_wait = MSG_DONTWAIT;

/// pidfd_open(2): returns a descriptor of this process. Unlike a pid, it never refers to another process.
static inline int clinux_open_process(int pid) { return (int)syscall(434 /* SYS_pidfd_open */, pid, 0U); }

/// pidfd_send_signal(2).
static inline int clinux_signal_process(int descriptor, int signal) {
  return (int)syscall(424 /* SYS_pidfd_send_signal */, descriptor, signal, (void *)0, 0U);
}

/// Sends a datagram to a UNIX socket without waiting. The name is a path, or `@` and an abstract name
/// (unix(7)). Returns 0 or an errno value.
static inline int clinux_send_datagram(const char *_Nonnull name, const void *_Nonnull bytes, size_t count) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length == 0 || length >= sizeof address.sun_path) return EINVAL;
  memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = 0;
  int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return errno;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  ssize_t sent;
  do sent = sendto(descriptor, bytes, count, MSG_NOSIGNAL, (struct sockaddr *)&address, size);
  while (sent < 0 && errno == EINTR);
  int code = sent < 0 ? errno : 0;
  close(descriptor);
  return code;
}

/// Prevents core files of this process.
static inline void clinux_forbid_core_files(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

/// Limits the memory that the allocator retains (mallopt(3)).
static inline void clinux_limit_heap(int arenas, int mmap_threshold, int trim_threshold) {
  mallopt(M_ARENA_MAX, arenas);
  mallopt(M_MMAP_THRESHOLD, mmap_threshold);
  mallopt(M_TRIM_THRESHOLD, trim_threshold);
}

/// Returns the free pages of all arenas to the system (malloc_trim(3)).
static inline void clinux_trim_heap(void) { malloc_trim(0); }

/// Returns the soft limit of open descriptors.
static inline uint64_t clinux_descriptor_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

/// Raises the soft limit of open descriptors to the hard limit, and returns the new limit.
static inline uint64_t clinux_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}
#endif
