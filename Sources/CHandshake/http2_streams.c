#define _GNU_SOURCE
#include "cstreams.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

// Copied from nghttp2.h, whose structures are part of its stable ABI. Only libcurl links nghttp2.
typedef struct nghttp2_session session;
typedef struct nghttp2_session_callbacks callbacks;
typedef struct {
  size_t length;
  int32_t stream_id;
  uint8_t type, flags, reserved;
} frame;
typedef struct {
  frame head;
  uint32_t error_code;
} reset_frame;
enum { data_type = 0, headers_type = 1, reset_type = 3, end_stream = 1 };
enum { no_error = 0, refused_stream = 7, cancel = 8 };

typedef int (*on_frame)(session *, const frame *, void *);
typedef int (*on_header)(
  session *, const frame *, const uint8_t *, size_t, const uint8_t *, size_t, uint8_t, void *);
typedef int (*on_chunk)(session *, uint8_t, int32_t, const uint8_t *, size_t, void *);
typedef int (*on_close)(session *, int32_t, uint32_t, void *);

// libcurl's callbacks, one of each kind for all of its connections.
static _Atomic(on_frame) frame_callback;
static _Atomic(on_header) header_callback;
static _Atomic(on_chunk) chunk_callback;
static _Atomic(on_close) close_callback;

static void *(*user_data)(session *, int32_t);
static int (*local_close)(session *, int32_t);
static int (*submit_reset)(session *, uint8_t, int32_t, uint32_t);
static cstreams_stream *(*_Atomic find)(void *);

__attribute__((constructor)) static void look_up(void) {
  *(void **)&user_data = dlsym(RTLD_DEFAULT, "nghttp2_session_get_stream_user_data");
  *(void **)&local_close = dlsym(RTLD_DEFAULT, "nghttp2_session_get_stream_local_close");
  *(void **)&submit_reset = dlsym(RTLD_DEFAULT, "nghttp2_submit_rst_stream");
}

void cstreams_record(cstreams_stream *(*function)(void *)) { find = function; }

// Returns the record of a stream by its easy handle, or NULL after libcurl has detached from the stream.
static cstreams_stream *record(session *connection, int32_t id) {
  void *easy = id && find ? user_data(connection, id) : NULL;
  return easy ? find(easy) : NULL;
}

static int header_came(
  session *connection, const frame *head, const uint8_t *name, size_t name_size, const uint8_t *value,
  size_t value_size, uint8_t flags, void *context) {
  if (name_size == 7 && !memcmp(name, ":status", 7)) {
    cstreams_stream *stream = record(connection, head->stream_id);
    if (stream) {
      stream->status = 0;
      for (size_t i = 0; i < value_size && i < 3; i++) stream->status = stream->status * 10 + value[i] - '0';
    }
  }
  return header_callback(connection, head, name, name_size, value, value_size, flags, context);
}

static int chunk_came(
  session *connection, uint8_t flags, int32_t id, const uint8_t *bytes, size_t count, void *context) {
  cstreams_stream *stream = record(connection, id);
  if (stream) stream->received += (int64_t)count;
  return chunk_callback(connection, flags, id, bytes, count, context);
}

static int frame_came(session *connection, const frame *head, void *context) {
  cstreams_stream *stream = record(connection, head->stream_id);
  if (!stream) return frame_callback(connection, head, context);
  if (head->type == reset_type && stream->is_answered && ((const reset_frame *)head)->error_code == no_error)
    return 0;  // libcurl still gets the close of the stream
  bool is_end = (head->type == data_type || head->type == headers_type) && head->flags & end_stream;
  if (is_end) stream->is_answered = true;
  int result = frame_callback(connection, head, context);
  // libcurl stops sending after a refusal, and would wait for a WINDOW_UPDATE of the server.
  if (!result && is_end && stream->status >= 300 && !local_close(connection, head->stream_id)) {
    stream->is_cut = true;
    submit_reset(connection, 0, head->stream_id, cancel);
  }
  return result;
}

static int closed(session *connection, int32_t id, uint32_t code, void *context) {
  cstreams_stream *stream = record(connection, id);
  if (stream) {
    stream->is_unprocessed = code == refused_stream;
    if (stream->is_cut) code = no_error;
    if (code == no_error && !stream->is_answered) code = cancel;  // otherwise libcurl would take the received part for the whole
    stream->is_broken = code != no_error;
  }
  return close_callback(connection, id, code, context);
}

#define INTERPOSE(name, type, kept, own)                                                           \
  __attribute__((used, visibility("default"))) void name(callbacks *all, type function) {          \
    kept = function;                                                                               \
    void (*set)(callbacks *, type);                                                                \
    *(void **)&set = dlsym(RTLD_NEXT, #name);                                                      \
    set(all, own);                                                                                 \
  }
INTERPOSE(nghttp2_session_callbacks_set_on_frame_recv_callback, on_frame, frame_callback, frame_came)
INTERPOSE(nghttp2_session_callbacks_set_on_header_callback, on_header, header_callback, header_came)
INTERPOSE(nghttp2_session_callbacks_set_on_data_chunk_recv_callback, on_chunk, chunk_callback, chunk_came)
INTERPOSE(nghttp2_session_callbacks_set_on_stream_close_callback, on_close, close_callback, closed)
