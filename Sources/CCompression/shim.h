#ifndef CCOMPRESSION_SHIM_H
#define CCOMPRESSION_SHIM_H
#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

// inflateInit2 and deflateInit2 are macros, which Swift cannot call.
static inline int ccompression_inflate_init(z_stream *_Nonnull stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

// Window bits above 15 select gzip's header and trailer.
static inline int ccompression_gzip_init(z_stream *_Nonnull stream, int level) {
  return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}
#endif
