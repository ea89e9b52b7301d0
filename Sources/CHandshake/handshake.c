#include "chandshake_internal.h"

#include <openssl/async.h>
#include <openssl/err.h>
#include <string.h>

static int slot = -1;

static void release_slot(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number, void *pointer) {
  (void)parent, (void)all, (void)index, (void)number, (void)pointer;
  if (data) chandshake_release(data);
}

__attribute__((constructor)) static void make_slot(void) {
  slot = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, release_slot);
}

static chandshake *of(const SSL *ssl) { return SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), slot); }

// Pauses the handshake until the decision. Returns false if it cannot be paused, so that there will be no
// decision.
//
// Only the first handshake of a connection can be paused. Later, libcurl would fail a transfer whose reads or writes
// are paused, and the connection may belong to another transfer. Renegotiation and post-handshake authentication
// therefore cause no decision.
static bool hold(chandshake *handshake, chandshake_question question) {
  if (!ASYNC_get_current_job()) return false;
  handshake->question = question;
  handshake->decision = 0;
  chandshake_retain(handshake);  // the queue's
  if (handshake->policy->queue->last) {
    handshake->policy->queue->last->next = handshake;
  } else {
    handshake->policy->queue->first = handshake;
  }
  handshake->policy->queue->last = handshake;
  while (!handshake->decision)
    if (!ASYNC_pause_job()) return false;
  return true;
}

// Returns whether the peers have said everything although the handshake is not over. A job that pauses later
// would be continued by a write.
static bool is_at_end(const SSL *ssl) {
  return SSL_get_state(ssl) == (SSL_version(ssl) >= TLS1_3_VERSION ? TLS_ST_CW_FINISHED : TLS_ST_CR_FINISHED);
}

// Returns whether the server has accepted the client certificate. Up to TLS 1.2, the server then ends the
// handshake. In TLS 1.3 the handshake is already over, but session tickets follow.
static bool lets_in(const SSL *ssl, int where) {
  if (SSL_version(ssl) < TLS1_3_VERSION) return where & SSL_CB_HANDSHAKE_DONE;
  return where == SSL_CB_CONNECT_LOOP && SSL_get_state(ssl) == TLS_ST_CR_SESSION_TICKET;
}

static void note(const SSL *ssl, int where, int value) {
  chandshake *handshake = of(ssl);
  if (lets_in(ssl, where)) chandshake_note_response(handshake);
  if ((where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT) handshake->alert = value & 0xff;
  if (where & SSL_CB_HANDSHAKE_DONE) handshake->is_established = true;
  if (where != SSL_CB_CONNECT_LOOP || handshake->is_established || handshake->has_waited) return;
  if (!handshake->policy->waits_at_end || !is_at_end(ssl)) return;
  handshake->has_waited = true;
  hold(handshake, chandshake_is_end);
}

static bool names_host(const char *host, X509 *leaf) {
  // RFC 9525: names in the subject do not count, and a wildcard is a whole label.
  unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
  if (!address) return X509_check_host(leaf, host, 0, flags, NULL) == 1;
  ASN1_OCTET_STRING_free(address);
  return X509_check_ip_asc(leaf, host, 0) == 1;
}

static bool has_pin(const chandshake_policy *policy, X509 *certificate) {
  uint8_t digest[32];
  chandshake_key_digest(certificate, digest);
  for (size_t i = 0; i < policy->pin_count; i++)
    if (!memcmp(policy->pins + 32 * i, digest, 32)) return true;
  return false;
}

// Checks the signatures and dates of the chain, the host name, and the session's pins. Returns 0 or the first
// error.
static int evaluate(const chandshake_policy *policy, SSL *ssl, X509_STORE_CTX *context) {
  if (X509_verify_cert(context) != 1) {
    int error = X509_STORE_CTX_get_error(context);
    return error ? error : X509_V_ERR_UNSPECIFIED;
  }
  // The name as sent, in its ASCII form. IP addresses are not sent.
  const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (!names_host(name ? name : policy->host, X509_STORE_CTX_get0_cert(context))) return X509_V_ERR_HOSTNAME_MISMATCH;
  if (!policy->pin_count) return X509_V_OK;
  STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(context);
  for (int i = 0; i < sk_X509_num(chain); i++)
    if (has_pin(policy, sk_X509_value(chain, i))) return X509_V_OK;
  return X509_V_ERR_CERT_REJECTED;
}

static int verify(X509_STORE_CTX *context, void *unused) {
  (void)unused;
  SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
  chandshake *handshake = of(ssl);
  int error = evaluate(handshake->policy, ssl, context);
  bool is_asked = handshake->policy->asks_for_trust && !handshake->is_established;
  if (is_asked || handshake->has_accepted) {
    STACK_OF(X509) *chain = X509_STORE_CTX_get0_untrusted(context);
    sk_X509_pop_free(handshake->chain, X509_free);
    handshake->chain = chain ? X509_chain_up_ref(chain) : NULL;
    handshake->verify_error = error;
    uint8_t digest[32];
    chandshake_chain_digest(handshake, digest);
    if (handshake->has_accepted && !memcmp(handshake->accepted, digest, sizeof digest)) {
      error = X509_V_OK;  // the same chain again, in a renegotiation
    } else if (!is_asked) {
      // The result of the evaluation stands.
    } else if (!hold(handshake, chandshake_is_trust)) {
      error = X509_V_ERR_APPLICATION_VERIFICATION;
    } else if (handshake->decision == chandshake_accept) {
      error = X509_V_OK;
      handshake->has_accepted = true;
      memcpy(handshake->accepted, digest, sizeof digest);
    } else if (handshake->decision == chandshake_refuse && !error) {
      error = X509_V_ERR_APPLICATION_VERIFICATION;
    }
  }
  // libcurl reads the result again after the handshake.
  X509_STORE_CTX_set_error(context, error);
  return error == X509_V_OK;
}

static int choose_certificate(SSL *ssl, X509 **certificate, EVP_PKEY **key) {
  chandshake *handshake = of(ssl);
  chandshake_identity *identity = handshake->policy->identity;
  handshake->request = chandshake_is_unmet;
  if (handshake->is_established) {
    if (handshake->identity) identity = handshake->identity;
  } else if (handshake->policy->asks_for_certificate) {
    sk_X509_NAME_pop_free(handshake->issuers, X509_NAME_free);
    const STACK_OF(X509_NAME) *issuers = SSL_get0_peer_CA_list(ssl);
    handshake->issuers = issuers ? sk_X509_NAME_deep_copy(issuers, X509_NAME_dup, X509_NAME_free) : NULL;
    if (!hold(handshake, chandshake_is_certificate) || handshake->decision == chandshake_refuse) return -1;
    if (handshake->decision == chandshake_accept) identity = handshake->identity;
  }
  if (!identity) return 0;
  // OpenSSL stores a chain for each type of key. This call replaces an earlier chain of the same type.
  if (SSL_use_cert_and_key(ssl, identity->certificate, identity->key, identity->above, 1) != 1) ERR_clear_error();
  X509_up_ref(*certificate = identity->certificate);
  EVP_PKEY_up_ref(*key = identity->key);
  handshake->request = chandshake_is_answered;
  return 1;
}

int chandshake_attach(void *easy, void *context, void *data) {
  chandshake_policy *policy = data;
  chandshake *handshake = calloc(1, sizeof *handshake);
  if (!handshake) return 27;  // CURLE_OUT_OF_MEMORY
  handshake->references = 1;
  handshake->easy = easy;
  handshake->policy = policy;
  policy->references++;
  SSL_CTX_set_ex_data(context, slot, handshake);
  SSL_CTX_set1_cert_store(context, policy->store);
  SSL_CTX_set_cert_verify_callback(context, verify, NULL);
  SSL_CTX_set_info_callback(context, note);
  SSL_CTX_set_client_cert_cb(context, choose_certificate);
  if (policy->asks_for_trust || policy->asks_for_certificate || policy->waits_at_end) SSL_CTX_set_mode(context, SSL_MODE_ASYNC);
  return 0;
}

void chandshake_get_agreed(const void *session, const char **version, const char **cipher_suite) {
  const SSL_CIPHER *cipher = SSL_get_current_cipher(session);
  *version = cipher ? SSL_get_version(session) : NULL;
  *cipher_suite = cipher ? SSL_CIPHER_standard_name(cipher) : NULL;
}

chandshake *chandshake_of_session(const void *session) {
  chandshake *handshake = of(session);
  if (handshake) chandshake_retain(handshake);
  return handshake;
}

chandshake *chandshake_of_context(const void *context) {
  chandshake *handshake = SSL_CTX_get_ex_data(context, slot);
  chandshake_retain(handshake);
  return handshake;
}

int chandshake_alert(const chandshake *handshake) { return handshake->alert; }
chandshake_request chandshake_get_request(const chandshake *handshake) { return handshake->request; }
void chandshake_note_response(chandshake *handshake) { handshake->request = chandshake_has_no_request; }

void chandshake_retain(chandshake *handshake) { handshake->references++; }

void chandshake_release(chandshake *handshake) {
  if (--handshake->references) return;
  sk_X509_pop_free(handshake->chain, X509_free);
  sk_X509_NAME_pop_free(handshake->issuers, X509_NAME_free);
  if (handshake->identity) chandshake_identity_free(handshake->identity);
  chandshake_policy_release(handshake->policy);
  free(handshake);
}

chandshake *chandshake_dequeue(chandshake_queue *queue) {
  chandshake *handshake = queue->first;
  if (!handshake) return NULL;
  queue->first = handshake->next;
  if (!queue->first) queue->last = NULL;
  handshake->next = NULL;
  return handshake;
}

void chandshake_decide(chandshake *handshake, chandshake_decision decision, chandshake_identity *identity) {
  if (handshake->decision) return;
  if (identity) {
    identity->references++;
    if (handshake->identity) chandshake_identity_free(handshake->identity);
    handshake->identity = identity;
  }
  handshake->decision = decision;
}
