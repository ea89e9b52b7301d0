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

// Certificates by their subjects: a parsed one takes several times the room, and most are never looked up. Immutable.
typedef struct table {
  atomic_int references;
  entry *entries;
  size_t count;
  unsigned char *bytes;
} table;

// Owned by the lookup of its store, and freed with it.
struct chandshake_roots {
  X509_STORE *store;
  table *tables[2];
};

// Counts are plain: policies, identities and handshakes stay on the thread of their multi handle.
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
  bool is_established;  // the connection's first handshake is over
  bool has_waited;  // at its end
  int alert;  // the last that the peer sent
  chandshake_request request;
  chandshake_question question;
  int decision;  // 0: none yet
  int verify_error;
  bool has_accepted;
  uint8_t accepted[32];  // the chain's digest
  STACK_OF(X509) *chain;
  STACK_OF(X509_NAME) *issuers;
  chandshake_identity *identity;
  chandshake *next;
};

void chandshake_retain(chandshake *handshake);
void chandshake_key_digest(X509 *certificate, uint8_t *digest);
#endif
