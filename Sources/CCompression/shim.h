#ifndef CCOMPRESSION_SHIM_H
#define CCOMPRESSION_SHIM_H
#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

// inflateInit2 is a macro: Swift cannot call it.
static inline int ccompression_inflate_init(z_stream *_Nonnull stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

// Nor deflateInit2. Window bits over 15 ask for gzip's head and tail.
static inline int ccompression_gzip_init(z_stream *_Nonnull stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}
#endif
