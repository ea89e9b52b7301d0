// Records the messages that a program compresses with a Zstandard dictionary, by LD_PRELOAD. Each message is appended to the file
// DOCUMENTS after its length. The dictionary is written to DOCUMENTS.dictionary.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

typedef size_t Compress(void *, void *, size_t, const void *, size_t, const void *);
typedef void *Create(const void *, size_t, int);

static void append(const char *suffix, const char *mode, const void *bytes, size_t count, int counted) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", getenv("DOCUMENTS"), suffix);
  FILE *file = fopen(path, mode);
  if (file) {
    // Other threads and the worker's process write to the same file.
    flock(fileno(file), LOCK_EX);
    uint32_t length = (uint32_t)count;
    if (counted) fwrite(&length, sizeof length, 1, file);
    fwrite(bytes, 1, count, file);
    fclose(file);
  }
}

size_t ZSTD_compress_usingCDict(void *context, void *frame, size_t room, const void *message, size_t count, const void *dictionary) {
  append("", "ab", message, count, 1);
  return ((Compress *)dlsym(RTLD_NEXT, "ZSTD_compress_usingCDict"))(context, frame, room, message, count, dictionary);
}

void *ZSTD_createCDict(const void *dictionary, size_t count, int level) {
  append(".dictionary", "wb", dictionary, count, 0);
  return ((Create *)dlsym(RTLD_NEXT, "ZSTD_createCDict"))(dictionary, count, level);
}
