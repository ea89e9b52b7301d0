#ifndef CHANDSHAKE_H
#define CHANDSHAKE_H
// Verifies the peers of libcurl's TLS connections, and pauses a handshake during a decision.
//
// OpenSSL runs its callbacks for this on a fibre with a stack of 32 KiB (an ASYNC job). The callbacks therefore stay
// in C: they record their input, queue the handshake and pause the job. After the call that queued the handshake, the
// owner of the multi handle takes it from the queue, decides, and wakes the transfer. All of this happens on one
// thread.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Trusted certificate authorities.
typedef struct chandshake_roots chandshake_roots;
/// A client certificate, its chain and its key.
typedef struct chandshake_identity chandshake_identity;
/// The rules for the peers of a host.
typedef struct chandshake_policy chandshake_policy;
/// A handshake.
typedef struct chandshake chandshake;

/// The handshakes that wait for a decision and have not been taken.
typedef struct chandshake_queue {
  chandshake *_Nullable first;
  chandshake *_Nullable last;
} chandshake_queue;

typedef enum chandshake_question {
  chandshake_is_trust = 1,
  chandshake_is_certificate = 2,
  /// The handshake is over. Every decision lets the request go out.
  chandshake_is_end = 3,
} chandshake_question;

typedef enum chandshake_decision {
  /// The result of the evaluation stands, and only the policy's own identity is sent.
  chandshake_default = 1,
  chandshake_accept = 2,
  chandshake_refuse = 3,
} chandshake_decision;

/// The state of the server's request for a client certificate.
typedef enum chandshake_request {
  /// There was no request, or the server accepted the client.
  chandshake_has_no_request = 0,
  /// No certificate was sent.
  chandshake_is_unmet = 1,
  chandshake_is_answered = 2,
} chandshake_request;

/// A certificate of a peer's chain. Names are in the form of RFC 2253, times in seconds since 1970.
typedef struct chandshake_certificate {
  char *_Nullable pem;
  char *_Nullable subject;
  char *_Nullable issuer;
  int64_t not_before, not_after;
  /// The SHA-256 of the certificate and of its SubjectPublicKeyInfo.
  uint8_t sha256[32], key_sha256[32];
} chandshake_certificate;

/// Reads PEM certificates from a file or from text. Returns NULL with a message in `problem` if none can be
/// read. If both are NULL, the set is empty.
chandshake_roots *_Nullable chandshake_roots_create(
  const char *_Nullable file, const char *_Nullable pem, char *_Nonnull problem, size_t problem_size);
/// Joins two sets without copying certificates. Neither may itself be the result of a join.
chandshake_roots *_Nonnull chandshake_roots_join(
  const chandshake_roots *_Nonnull first, const chandshake_roots *_Nonnull second);
/// Returns the largest number of distinct certificates with the same subject.
size_t chandshake_roots_largest_subject_count(const chandshake_roots *_Nonnull roots);
void chandshake_roots_free(chandshake_roots *_Nonnull roots);

/// Reads a certificate, optionally followed by its chain, and its key, both in PEM. Returns NULL with a message
/// in `problem` that begins with `certificate` or `key`.
chandshake_identity *_Nullable chandshake_identity_create(
  const char *_Nonnull certificate, const char *_Nonnull key, char *_Nonnull problem, size_t problem_size);
void chandshake_identity_free(chandshake_identity *_Nonnull identity);

/// - pins: `pin_count` times 32 bytes. If there are any, a key of the chain must be among them.
/// - identity: The certificate that is sent if the server requests one, or NULL.
/// - waits_at_end: Whether every handshake is paused once more at its end.
/// - queue: The queue, which must outlive every connection made under the policy.
chandshake_policy *_Nonnull chandshake_policy_create(
  chandshake_roots *_Nonnull roots, const char *_Nonnull host, const uint8_t *_Nullable pins, size_t pin_count,
  bool asks_for_trust, bool asks_for_certificate, bool waits_at_end, chandshake_identity *_Nullable identity,
  chandshake_queue *_Nonnull queue);
void chandshake_policy_release(chandshake_policy *_Nonnull policy);

/// A CURLOPT_SSL_CTX_FUNCTION whose data is a policy.
int chandshake_attach(void *_Nullable easy, void *_Nonnull context, void *_Nonnull policy);

/// Returns the version, such as `TLSv1.3`, and the IANA name of the cipher suite of a connection. `session`
/// comes from CURLINFO_TLS_SSL_PTR. Both strings are static, or NULL before they are agreed.
void chandshake_get_agreed(
  const void *_Nonnull session, const char *_Nullable *_Nonnull version, const char *_Nullable *_Nonnull cipher_suite);

/// Returns the connection's handshake, which the caller releases, or NULL if it has none. `session` comes from
/// CURLINFO_TLS_SSL_PTR.
chandshake *_Nullable chandshake_of_session(const void *_Nonnull session);
/// Returns the handshake of a new connection, which the caller releases. `context` is its SSL_CTX.
chandshake *_Nonnull chandshake_of_context(const void *_Nonnull context);
/// Returns the last alert that the peer has sent (RFC 8446 §6), or 0 for none and for close_notify.
int chandshake_alert(const chandshake *_Nonnull handshake);
chandshake_request chandshake_get_request(const chandshake *_Nonnull handshake);
/// Records that the server has replied to a request, and has therefore accepted the client.
void chandshake_note_response(chandshake *_Nonnull handshake);

/// Returns the next waiting handshake, which the caller releases.
chandshake *_Nullable chandshake_dequeue(chandshake_queue *_Nonnull queue);
void chandshake_release(chandshake *_Nonnull handshake);
/// Returns the easy handle of the connection.
void *_Nullable chandshake_easy(const chandshake *_Nonnull handshake);
chandshake_question chandshake_get_question(const chandshake *_Nonnull handshake);
/// Returns whether the decision is still pending.
bool chandshake_is_open(const chandshake *_Nonnull handshake);
/// Returns the result of the evaluation: an X509_V_… value, 0 for a trusted chain.
int chandshake_verify_error(const chandshake *_Nonnull handshake);
const char *_Nonnull chandshake_verify_message(int error);
int chandshake_chain_count(const chandshake *_Nonnull handshake);
/// Writes the SHA-256 of the whole chain.
void chandshake_chain_digest(const chandshake *_Nonnull handshake, uint8_t *_Nonnull digest);
void chandshake_copy_certificate(
  const chandshake *_Nonnull handshake, int index, chandshake_certificate *_Nonnull certificate);
void chandshake_certificate_clear(chandshake_certificate *_Nonnull certificate);
/// Returns the number of certificate authorities that the server accepts.
int chandshake_issuer_count(const chandshake *_Nonnull handshake);
/// Returns the name of an authority, which the caller frees.
char *_Nullable chandshake_copy_issuer(const chandshake *_Nonnull handshake, int index);
/// Decides once. The caller has to wake the transfer afterwards.
/// - identity: The identity to send, if `decision` is accept and the server requests a certificate.
void chandshake_decide(
  chandshake *_Nonnull handshake, chandshake_decision decision, chandshake_identity *_Nullable identity);

/// Computes SHA-512/256 (FIPS 180-4 §5.3.6.2) incrementally. The end writes 32 bytes.
void *_Nonnull chandshake_sha512_256_begin(void);
void chandshake_sha512_256_update(void *_Nonnull hash, const void *_Nullable bytes, size_t size);
void chandshake_sha512_256_end(void *_Nonnull hash, uint8_t *_Nonnull digest);
void chandshake_sha512_256_free(void *_Nonnull hash);
#endif
