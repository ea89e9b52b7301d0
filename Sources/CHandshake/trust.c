// Certificates, policies, and the description of a peer's chain.
#include <openssl/err.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "chandshake_internal.h"

static void explain(char *problem, size_t size, const char *what) {
  unsigned long error = ERR_peek_last_error();
  const char *reason = error ? ERR_reason_error_string(error) : NULL;
  snprintf(problem, size, "%s%s%s", what, reason ? ": " : "", reason ? reason : "");
  ERR_clear_error();
}

// Keys with a passphrase are refused, because a service cannot ask for it.
static int no_passphrase(char *buffer, int size, int writing, void *data) {
  (void)buffer, (void)size, (void)writing, (void)data;
  return -1;
}

static const char *const begin = "-----BEGIN ";

static int count_blocks(const char *pem) {
  int count = 0;
  for (const char *at = pem; (at = strstr(at, begin)); at += strlen(begin)) count++;
  return count;
}

static bool names_certificate(const char *name) {
  return !strcmp(name, PEM_STRING_X509) || !strcmp(name, PEM_STRING_X509_OLD) || !strcmp(name, PEM_STRING_X509_TRUSTED);
}

// Returns the certificate of a block, or NULL if the block contains more than the certificate.
static X509 *read_certificate(const char *name, const char *header, const unsigned char *bytes, long count) {
  if (*header || !names_certificate(name)) return NULL;
  bool is_auxiliary = !strcmp(name, PEM_STRING_X509_TRUSTED);
  const unsigned char *end = bytes;
  X509 *certificate = is_auxiliary ? d2i_X509_AUX(NULL, &end, count) : d2i_X509(NULL, &end, count);
  if (end == bytes + count) return certificate;
  X509_free(certificate);
  return NULL;
}

// Reads a text that contains certificates only. The text is stored and shown as it is, so another block, such
// as a key, is an error. Returns NULL on failure, and sets `has_more` if there is another block.
static STACK_OF(X509) *read_certificates(const char *pem, bool *has_more) {
  ERR_clear_error();
  BIO *input = BIO_new_mem_buf(pem, -1);
  STACK_OF(X509) *certificates = sk_X509_new_null();
  bool is_good = true;
  char *name, *header;
  unsigned char *bytes;
  long count;
  *has_more = false;
  while (is_good && PEM_read_bio(input, &name, &header, &bytes, &count)) {
    X509 *certificate = read_certificate(name, header, bytes, count);
    is_good = certificate && sk_X509_push(certificates, certificate) > 0;
    *has_more = !names_certificate(name);
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_clear_free(bytes, (size_t)count);
  }
  BIO_free(input);
  // At the end of the text, the reason is "no start line". Any other reason is an unreadable block.
  is_good = is_good && sk_X509_num(certificates) > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (is_good && sk_X509_num(certificates) != count_blocks(pem)) *has_more = true;
  if (is_good && !*has_more) {
    ERR_clear_error();
    return certificates;
  }
  if (*has_more) ERR_clear_error();
  sk_X509_pop_free(certificates, X509_free);
  return NULL;
}

static void table_release(table *table) {
  if (!table || atomic_fetch_sub(&table->references, 1) > 1) return;
  free(table->entries);
  free(table->bytes);
  free(table);
}

static table *table_retain(table *table) {
  if (table) atomic_fetch_add(&table->references, 1);
  return table;
}

// Orders by subject; equal certificates are adjacent.
static int compare(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->subject != b->subject) return a->subject < b->subject ? -1 : 1;
  if (a->size != b->size) return a->size < b->size ? -1 : 1;
  return memcmp(a->bytes, b->bytes, a->size);
}

// Takes ownership of the certificates.
static table *table_create(STACK_OF(X509) *certificates) {
  size_t count = (size_t)sk_X509_num(certificates), size = 0;
  for (size_t i = 0; i < count; i++) size += (size_t)i2d_X509_AUX(sk_X509_value(certificates, (int)i), NULL);
  table *table = calloc(1, sizeof *table);
  table->references = 1;
  table->entries = malloc((count + 1) * sizeof *table->entries);
  unsigned char *end = table->bytes = malloc(size + 1);
  for (size_t i = 0; i < count; i++) {
    X509 *certificate = sk_X509_value(certificates, (int)i);
    entry *entry = &table->entries[i];
    *entry = (struct entry){X509_NAME_hash_ex(X509_get_subject_name(certificate), NULL, NULL, NULL), end, 0};
    i2d_X509_AUX(certificate, &end);
    entry->size = (size_t)(end - entry->bytes);
  }
  sk_X509_pop_free(certificates, X509_free);
  qsort(table->entries, count, sizeof *table->entries, compare);
  for (size_t i = 0; i < count; i++)
    if (!table->count || compare(&table->entries[table->count - 1], &table->entries[i]))
      table->entries[table->count++] = table->entries[i];
  return table;
}

// Returns the index of the first entry that is not before the subject.
static size_t table_find(const table *table, unsigned long subject) {
  size_t low = 0, high = table->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (table->entries[middle].subject < subject) low = middle + 1; else high = middle;
  }
  return low;
}

static void lookup_free(X509_LOOKUP *lookup) {
  chandshake_roots *roots = X509_LOOKUP_get_method_data(lookup);
  if (!roots) return;
  for (size_t i = 0; i < 2; i++) table_release(roots->tables[i]);
  free(roots);
}

// Adds the certificates with this subject to the store, so that the next lookup finds them.
static int find_by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *found) {
  if (type != X509_LU_X509) return 0;
  const chandshake_roots *roots = X509_LOOKUP_get_method_data(lookup);
  unsigned long subject = X509_NAME_hash_ex(name, NULL, NULL, NULL);
  int is_found = 0;
  for (size_t i = 0; i < 2; i++) {
    const table *table = roots->tables[i];
    for (size_t at = table ? table_find(table, subject) : 0; table && at < table->count; at++) {
      if (table->entries[at].subject != subject) break;
      const unsigned char *bytes = table->entries[at].bytes;
      X509 *certificate = d2i_X509_AUX(NULL, &bytes, (long)table->entries[at].size);
      if (!certificate) continue;
      if (!X509_NAME_cmp(X509_get_subject_name(certificate), name) &&
          X509_STORE_add_cert(X509_LOOKUP_get_store(lookup), certificate) && !is_found) {
        // OpenSSL adds its own reference to `found`, and the store has one, so the reference of set1 is
        // released.
        is_found = X509_OBJECT_set1_X509(found, certificate);
        if (is_found) X509_free(certificate);
      }
      X509_free(certificate);
    }
  }
  return is_found;
}

static X509_LOOKUP_METHOD *method;
static pthread_once_t method_once = PTHREAD_ONCE_INIT;

static void create_method(void) {
  method = X509_LOOKUP_meth_new("certificate authorities");
  X509_LOOKUP_meth_set_get_by_subject(method, find_by_subject);
  X509_LOOKUP_meth_set_free(method, lookup_free);
}

// Takes ownership of the tables.
static chandshake_roots *roots_of(table *first, table *second) {
  pthread_once(&method_once, create_method);
  chandshake_roots *roots = calloc(1, sizeof *roots);
  roots->store = X509_STORE_new();
  roots->tables[0] = first;
  roots->tables[1] = second;
  X509_STORE_set_flags(roots->store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  X509_LOOKUP_set_method_data(X509_STORE_add_lookup(roots->store, method), roots);
  return roots;
}

static STACK_OF(X509) *read_file(const char *path) {
  ERR_clear_error();
  BIO *input = BIO_new_file(path, "r");
  STACK_OF(X509_INFO) *found = input ? PEM_X509_INFO_read_bio(input, NULL, no_passphrase, NULL) : NULL;
  BIO_free(input);
  STACK_OF(X509) *certificates = sk_X509_new_null();
  for (int i = 0; i < sk_X509_INFO_num(found); i++) {
    X509_INFO *info = sk_X509_INFO_value(found, i);
    if (!info->x509) continue;
    sk_X509_push(certificates, info->x509);
    info->x509 = NULL;
  }
  sk_X509_INFO_pop_free(found, X509_INFO_free);
  if (sk_X509_num(certificates)) {
    ERR_clear_error();
    return certificates;
  }
  sk_X509_free(certificates);
  return NULL;
}

chandshake_roots *chandshake_roots_create(const char *file, const char *pem, char *problem, size_t problem_size) {
  bool has_more = false;
  STACK_OF(X509) *certificates = file ? read_file(file) : pem ? read_certificates(pem, &has_more) : sk_X509_new_null();
  if (!certificates) {
    explain(problem, problem_size, file ? file : has_more ? "contains more than certificates" : "must be certificates in PEM");
    return NULL;
  }
  return roots_of(table_create(certificates), NULL);
}

chandshake_roots *chandshake_roots_join(const chandshake_roots *first, const chandshake_roots *second) {
  return roots_of(table_retain(first->tables[0]), table_retain(second->tables[0]));
}

size_t chandshake_roots_largest_subject_count(const chandshake_roots *roots) {
  const table *table = roots->tables[0];
  size_t most = 0;
  for (size_t start = 0, at = 0; at < table->count; at++) {
    if (table->entries[at].subject != table->entries[start].subject) start = at;
    if (at - start + 1 > most) most = at - start + 1;
  }
  return most;
}

// Connections may still use the store. The tables are freed with it.
void chandshake_roots_free(chandshake_roots *roots) { X509_STORE_free(roots->store); }

chandshake_identity *chandshake_identity_create(
  const char *certificate, const char *key, char *problem, size_t problem_size) {
  bool has_more;
  STACK_OF(X509) *certificates = read_certificates(certificate, &has_more);
  if (!certificates) {
    const char *what = has_more ? "certificate contains more than certificates" : "certificate must be in PEM";
    explain(problem, problem_size, what);
    return NULL;
  }
  BIO *input = BIO_new_mem_buf(key, -1);
  EVP_PKEY *private_key = PEM_read_bio_PrivateKey(input, NULL, no_passphrase, NULL);
  BIO_free(input);
  X509 *leaf = sk_X509_shift(certificates);
  if (!private_key || X509_check_private_key(leaf, private_key) != 1) {
    explain(problem, problem_size, private_key ? "key does not belong to the certificate" : "key must be in PEM without a passphrase");
    EVP_PKEY_free(private_key);
    X509_free(leaf);
    sk_X509_pop_free(certificates, X509_free);
    return NULL;
  }
  chandshake_identity *identity = calloc(1, sizeof *identity);
  *identity = (chandshake_identity){1, leaf, private_key, certificates};
  return identity;
}

void chandshake_identity_free(chandshake_identity *identity) {
  if (--identity->references) return;
  X509_free(identity->certificate);
  EVP_PKEY_free(identity->key);
  sk_X509_pop_free(identity->above, X509_free);
  free(identity);
}

chandshake_policy *chandshake_policy_create(
  chandshake_roots *roots, const char *host, const uint8_t *pins, size_t pin_count, bool asks_for_trust,
  bool asks_for_certificate, bool waits_at_end, chandshake_identity *identity, chandshake_queue *queue) {
  chandshake_policy *policy = calloc(1, sizeof *policy);
  policy->references = 1;
  X509_STORE_up_ref(roots->store);
  policy->store = roots->store;
  policy->host = strdup(host);
  if (pin_count) {
    policy->pins = malloc(32 * pin_count);
    memcpy(policy->pins, pins, 32 * pin_count);
    policy->pin_count = pin_count;
  }
  policy->asks_for_trust = asks_for_trust;
  policy->asks_for_certificate = asks_for_certificate;
  policy->waits_at_end = waits_at_end;
  if (identity) identity->references++;
  policy->identity = identity;
  policy->queue = queue;
  return policy;
}

void chandshake_policy_release(chandshake_policy *policy) {
  if (--policy->references) return;
  X509_STORE_free(policy->store);
  if (policy->identity) chandshake_identity_free(policy->identity);
  free(policy->host);
  free(policy->pins);
  free(policy);
}

void *chandshake_easy(const chandshake *handshake) { return handshake->easy; }
chandshake_question chandshake_get_question(const chandshake *handshake) { return handshake->question; }
bool chandshake_is_open(const chandshake *handshake) { return !handshake->decision; }
int chandshake_verify_error(const chandshake *handshake) { return handshake->verify_error; }
const char *chandshake_verify_message(int error) { return X509_verify_cert_error_string(error); }
int chandshake_chain_count(const chandshake *handshake) {
  return handshake->chain ? sk_X509_num(handshake->chain) : 0;
}
int chandshake_issuer_count(const chandshake *handshake) {
  return handshake->issuers ? sk_X509_NAME_num(handshake->issuers) : 0;
}

static char *text_of(BIO *output) {
  char *bytes;
  long count = BIO_get_mem_data(output, &bytes);
  char *text = malloc((size_t)count + 1);
  memcpy(text, bytes, (size_t)count);
  text[count] = 0;
  BIO_free(output);
  return text;
}

static char *copy_name(const X509_NAME *name) {
  BIO *output = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(output, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  return text_of(output);
}

char *chandshake_copy_issuer(const chandshake *handshake, int index) {
  return copy_name(sk_X509_NAME_value(handshake->issuers, index));
}

static int64_t seconds(const ASN1_TIME *time) {
  struct tm parts;
  return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

void *chandshake_sha512_256_begin(void) {
  EVP_MD_CTX *hash = EVP_MD_CTX_new();
  if (hash == NULL || EVP_DigestInit_ex(hash, EVP_sha512_256(), NULL) != 1) abort();
  return hash;
}

void chandshake_sha512_256_update(void *hash, const void *bytes, size_t size) { EVP_DigestUpdate(hash, bytes, size); }

void chandshake_sha512_256_end(void *hash, uint8_t *digest) { EVP_DigestFinal_ex(hash, digest, NULL); }

void chandshake_sha512_256_free(void *hash) { EVP_MD_CTX_free(hash); }

void chandshake_key_digest(X509 *certificate, uint8_t *digest) {
  unsigned char *bytes = NULL;
  int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
  memset(digest, 0, 32);
  if (count > 0) EVP_Digest(bytes, (size_t)count, digest, NULL, EVP_sha256(), NULL);
  OPENSSL_free(bytes);
}

void chandshake_chain_digest(const chandshake *handshake, uint8_t *digest) {
  EVP_MD_CTX *hash = EVP_MD_CTX_new();
  EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
  for (int i = 0; i < chandshake_chain_count(handshake); i++) {
    uint8_t one[32];
    X509_digest(sk_X509_value(handshake->chain, i), EVP_sha256(), one, NULL);
    EVP_DigestUpdate(hash, one, sizeof one);
  }
  EVP_DigestFinal_ex(hash, digest, NULL);
  EVP_MD_CTX_free(hash);
}

void chandshake_copy_certificate(const chandshake *handshake, int index, chandshake_certificate *certificate) {
  X509 *source = sk_X509_value(handshake->chain, index);
  BIO *output = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(output, source);
  certificate->pem = text_of(output);
  certificate->subject = copy_name(X509_get_subject_name(source));
  certificate->issuer = copy_name(X509_get_issuer_name(source));
  certificate->not_before = seconds(X509_get0_notBefore(source));
  certificate->not_after = seconds(X509_get0_notAfter(source));
  X509_digest(source, EVP_sha256(), certificate->sha256, NULL);
  chandshake_key_digest(source, certificate->key_sha256);
}

void chandshake_certificate_clear(chandshake_certificate *certificate) {
  free(certificate->pem);
  free(certificate->subject);
  free(certificate->issuer);
}
