#ifndef CHANDSHAKE_H
#define CHANDSHAKE_H
// Judges the peers of libcurl's TLS connections, and holds a handshake while somebody else decides.
//
// The two callbacks of OpenSSL in which that happens run on a fibre with a stack of 32 KiB (an ASYNC job): they stay in
// C, record what they saw, queue the handshake and pause the job. Whoever drives the multi handle takes it from the
// queue after the call that put it there, decides, and wakes the transfer. All on one thread.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Authorities that are trusted.
typedef struct chandshake_roots chandshake_roots;
/// A client's certificate, the ones above it, and its key.
typedef struct chandshake_identity chandshake_identity;
/// By what the peers of one host are judged.
typedef struct chandshake_policy chandshake_policy;
/// One handshake.
typedef struct chandshake chandshake;

/// The handshakes that wait for a decision and were not taken yet.
typedef struct chandshake_queue {
  chandshake *_Nullable first;
  chandshake *_Nullable last;
} chandshake_queue;

typedef enum chandshake_question {
  chandshake_is_trust = 1,
  chandshake_is_certificate = 2,
  /// The handshake is over; whatever is decided lets the request go out.
  chandshake_is_end = 3,
} chandshake_question;

typedef enum chandshake_decision {
  /// What the evaluation found; no certificate but the policy's own.
  chandshake_default = 1,
  chandshake_accept = 2,
  chandshake_refuse = 3,
} chandshake_decision;

/// How the server's request for the client's certificate stands.
typedef enum chandshake_request {
  /// There was none, or the client was let in.
  chandshake_has_no_request = 0,
  /// Nothing was shown.
  chandshake_is_unmet = 1,
  chandshake_is_answered = 2,
} chandshake_request;

/// A certificate of a peer's chain. Names as RFC 2253 has them, times in seconds since 1970.
typedef struct chandshake_certificate {
  char *_Nullable pem;
  char *_Nullable subject;
  char *_Nullable issuer;
  int64_t not_before, not_after;
  /// SHA-256 of the certificate and of its SubjectPublicKeyInfo.
  uint8_t sha256[32], key_sha256[32];
} chandshake_certificate;

/// Reads PEM certificates from a file or from text; NULL with words in `problem` where none can be read. If both are NULL, the set is
/// empty.
chandshake_roots *_Nullable chandshake_roots_create(
  const char *_Nullable file, const char *_Nullable pem, char *_Nonnull problem, size_t problem_size);
/// Joins two sets without copying certificates. Neither may itself be the result of a join.
chandshake_roots *_Nonnull chandshake_roots_join(
  const chandshake_roots *_Nonnull first, const chandshake_roots *_Nonnull second);
/// The largest number of distinct certificates with the same subject.
size_t chandshake_roots_largest_subject_count(const chandshake_roots *_Nonnull roots);
void chandshake_roots_free(chandshake_roots *_Nonnull roots);

/// Reads a certificate (perhaps with others above it) and its key, both PEM; NULL with words in `problem`, which begin
/// with `certificate` or `key`.
chandshake_identity *_Nullable chandshake_identity_create(
  const char *_Nonnull certificate, const char *_Nonnull key, char *_Nonnull problem, size_t problem_size);
void chandshake_identity_free(chandshake_identity *_Nonnull identity);

/// - pins: `pin_count` times 32 bytes; where there are any, one key of the chain has to be among them.
/// - identity: shown where the server asks for a certificate; may be NULL.
/// - waits_at_end: every handshake is held once more when it is over.
/// - queue: outlives every connection made under the policy.
chandshake_policy *_Nonnull chandshake_policy_create(
  chandshake_roots *_Nonnull roots, const char *_Nonnull host, const uint8_t *_Nullable pins, size_t pin_count,
  bool asks_for_trust, bool asks_for_certificate, bool waits_at_end, chandshake_identity *_Nullable identity,
  chandshake_queue *_Nonnull queue);
void chandshake_policy_release(chandshake_policy *_Nonnull policy);

/// A CURLOPT_SSL_CTX_FUNCTION whose data is a policy.
int chandshake_attach(void *_Nullable easy, void *_Nonnull context, void *_Nonnull policy);

/// What a connection has agreed on, `session` being what CURLINFO_TLS_SSL_PTR gives: the version as `TLSv1.3`, the cipher
/// suite by its name at IANA. Both live for ever, or are NULL where there is no such thing.
void chandshake_get_agreed(
  const void *_Nonnull session, const char *_Nullable *_Nonnull version, const char *_Nullable *_Nonnull cipher_suite);

/// The connection's handshake, `session` being what CURLINFO_TLS_SSL_PTR gives; to be released. NULL where there is none.
chandshake *_Nullable chandshake_of_session(const void *_Nonnull session);
/// The same of a connection that is being made, `context` being its SSL_CTX.
chandshake *_Nonnull chandshake_of_context(const void *_Nonnull context);
/// The last alert that the peer sent (RFC 8446 §6), at any time; 0: none, or that it closes.
int chandshake_alert(const chandshake *_Nonnull handshake);
chandshake_request chandshake_get_request(const chandshake *_Nonnull handshake);
/// The server has answered a request: it has let the client in.
void chandshake_let_in(chandshake *_Nonnull handshake);

/// The next handshake that waits; to be released.
chandshake *_Nullable chandshake_take(chandshake_queue *_Nonnull queue);
void chandshake_release(chandshake *_Nonnull handshake);
/// The easy handle whose connection it is.
void *_Nullable chandshake_easy(const chandshake *_Nonnull handshake);
chandshake_question chandshake_get_question(const chandshake *_Nonnull handshake);
/// Whether somebody still waits for the decision.
bool chandshake_is_open(const chandshake *_Nonnull handshake);
/// X509_V_…: what the evaluation found; 0: trusted.
int chandshake_verify_error(const chandshake *_Nonnull handshake);
const char *_Nonnull chandshake_verify_message(int error);
int chandshake_chain_count(const chandshake *_Nonnull handshake);
/// SHA-256 over the whole chain.
void chandshake_chain_digest(const chandshake *_Nonnull handshake, uint8_t *_Nonnull digest);
void chandshake_copy_certificate(
  const chandshake *_Nonnull handshake, int index, chandshake_certificate *_Nonnull certificate);
void chandshake_certificate_clear(chandshake_certificate *_Nonnull certificate);
/// The authorities whose certificates the server accepts.
int chandshake_issuer_count(const chandshake *_Nonnull handshake);
/// To be freed; NULL where there is none.
char *_Nullable chandshake_copy_issuer(const chandshake *_Nonnull handshake, int index);
/// Decides, once. The transfer has to be woken after it.
/// - identity: what is shown where `decision` is accept and the question is for a certificate.
void chandshake_decide(
  chandshake *_Nonnull handshake, chandshake_decision decision, chandshake_identity *_Nullable identity);

/// SHA-512/256 (FIPS 180-4 §5.3.6.2), piece by piece; the end writes 32 bytes.
void *_Nonnull chandshake_sha512_256_begin(void);
void chandshake_sha512_256_update(void *_Nonnull hash, const void *_Nullable bytes, size_t size);
void chandshake_sha512_256_end(void *_Nonnull hash, uint8_t *_Nonnull digest);
void chandshake_sha512_256_free(void *_Nonnull hash);
#endif
