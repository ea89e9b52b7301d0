#ifndef CSTREAMS_H
#define CSTREAMS_H
// How the streams of libcurl's HTTP/2 connections end. libcurl 7.88 reports a stream that the server did not process, one that it
// answered before it had the whole request, and a lost connection by the same results, drops what it has of such an answer, and waits
// for ever for the end of one that is not reset.
//
// libcurl gives nghttp2 its callbacks by functions that this takes the place of: what comes passes here first.
#include <stdbool.h>
#include <stdint.h>

/// One stream.
typedef struct cstreams_stream {
  /// Of the last head; 0: none.
  int status;
  /// Bytes of the answer's content that have come.
  int64_t received;
  /// The answer has come to its end.
  bool is_answered;
  /// The server has not processed the request (RFC 9113 §8.7): it refused the stream, or left it out in a GOAWAY.
  bool is_unprocessed;
  /// The server has reset the stream, and not for having answered already (RFC 9113 §8.1).
  bool is_broken;
  /// The rest of the request is kept back.
  bool is_cut;
} cstreams_stream;

/// Has the streams of transfers recorded, from inside libcurl.
/// - find: where that of an easy handle is recorded; NULL: nowhere.
void cstreams_record(cstreams_stream *_Nullable (*_Nonnull find)(void *_Nonnull easy));
#endif
