#ifndef CSTREAMS_H
#define CSTREAMS_H
// Records how the streams of libcurl's HTTP/2 connections end.
//
// libcurl 7.88 reports three cases by the same results: an unprocessed stream, a stream with an early reply, and
// a lost connection. It also discards the received part of an early reply, and waits forever for the reply's end
// if the stream is not reset.
//
// libcurl passes its callbacks to functions of nghttp2. This module replaces those functions, so it sees every
// event first.
#include <stdbool.h>
#include <stdint.h>

/// A stream.
typedef struct cstreams_stream {
  /// The status of the last head, or 0 if there is none.
  int status;
  /// The received bytes of the response's content.
  int64_t received;
  /// Whether the response has ended.
  bool is_answered;
  /// Whether the server has not processed the request (RFC 9113 §8.7): it refused the stream, or excluded the
  /// stream in a GOAWAY.
  bool is_unprocessed;
  /// Whether the server has reset the stream for another reason than an early reply (RFC 9113 §8.1).
  bool is_broken;
  /// Whether the rest of the request is not sent.
  bool is_cut;
} cstreams_stream;

/// Records the streams of transfers that libcurl runs.
/// - find: Returns the record of an easy handle, or NULL to record nothing.
void cstreams_record(cstreams_stream *_Nullable (*_Nonnull find)(void *_Nonnull easy));
#endif
