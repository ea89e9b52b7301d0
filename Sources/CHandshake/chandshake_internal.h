#ifndef CHANDSHAKE_INTERNAL_H
#define CHANDSHAKE_INTERNAL_H
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "chandshake.h"

// A certificate in DER.
typedef struct entry {
  unsigned long subject;  // hash of the name
  const unsigned char *bytes;
  size_t size;
} entry;

// Unparsed certificates, sorted by subject. A parsed certificate needs several times the memory, and most
// certificates are never used. Immutable.
typedef struct table {
  atomic_int references;
  entry *entries;
  size_t count;
  unsigned char *bytes;
} table;

// The lookup of the store owns the roots and frees them.
struct chandshake_roots {
  X509_STORE *store;
  table *tables[2];
};

// Reference counts are not atomic, because policies, identities and handshakes stay on the thread of their
// multi handle.
struct chandshake_identity {
  int references;
  X509 *certificate;
  EVP_PKEY *key;
  STACK_OF(X509) *above;
};

struct chandshake_policy {
  int references;
  X509_STORE *store;
  char *host;
  uint8_t *pins;
  size_t pin_count;
  bool asks_for_trust, asks_for_certificate, waits_at_end;
  chandshake_identity *identity;
  chandshake_queue *queue;
};

struct chandshake {
  int references;
  void *easy;
  chandshake_policy *policy;
  bool is_established;  // the first handshake of the connection is over
  bool has_waited;  // has been paused at its end
  int alert;  // the last alert from the peer
  chandshake_request request;
  chandshake_question question;
  int decision;  // 0: pending
  int verify_error;
  bool has_accepted;
  uint8_t accepted[32];  // the digest of the accepted chain
  STACK_OF(X509) *chain;
  STACK_OF(X509_NAME) *issuers;
  chandshake_identity *identity;
  chandshake *next;
};

void chandshake_retain(chandshake *handshake);
void chandshake_key_digest(X509 *certificate, uint8_t *digest);
#endif
