#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H
// AES-256-GCM (NIST SP 800-38D) for many messages with the same key.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdint.h>

enum { COPENSSL_GCM_TAG = 16 };

// Returns a context for a key of 32 bytes, or NULL if memory is exhausted.
static inline EVP_CIPHER_CTX *_Nullable copenssl_gcm_new(const uint8_t *_Nonnull key) {
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  if (context && EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, key, NULL) == 1) return context;
  EVP_CIPHER_CTX_free(context);
  return NULL;
}

// Writes the ciphertext of `size` bytes and then the tag of 16 bytes. No size may exceed INT_MAX. The nonce has
// 12 bytes and must never repeat. Returns whether this succeeded.
static inline int copenssl_gcm_seal(EVP_CIPHER_CTX *_Nonnull context, const uint8_t *_Nonnull nonce,
                                    const uint8_t *_Nullable authenticated, int authenticated_size,
                                    const uint8_t *_Nullable text, int size, uint8_t *_Nonnull sealed) {
  int written = 0, rest = 0;
  return EVP_EncryptInit_ex(context, NULL, NULL, NULL, nonce) == 1 &&
         EVP_EncryptUpdate(context, NULL, &rest, authenticated, authenticated_size) == 1 &&
         (size == 0 || EVP_EncryptUpdate(context, sealed, &written, text, size) == 1) &&
         EVP_EncryptFinal_ex(context, sealed + written, &rest) == 1 &&
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, COPENSSL_GCM_TAG, sealed + size) == 1;
}
#endif
