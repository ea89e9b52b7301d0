#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic, so Swift cannot import them. There is
// an inline function for each type of argument. Swift selects it by the option's type.
static inline CURLcode ccurl_easy_setopt_long(CURL *_Nonnull h, CURLoption o, long v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_easy_setopt_off_t(CURL *_Nonnull h, CURLoption o, curl_off_t v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_easy_setopt_string(CURL *_Nonnull h, CURLoption o, const char *_Nullable v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_easy_setopt_pointer(CURL *_Nonnull h, CURLoption o, const void *_Nullable v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_easy_setopt_slist(CURL *_Nonnull h, CURLoption o, struct curl_slist *_Nullable v) {
  return curl_easy_setopt(h, o, v);
}
static inline CURLcode ccurl_easy_setopt_data(CURL *_Nonnull h, CURLoption o, curl_write_callback _Nonnull f) {
  return curl_easy_setopt(h, o, f);
}
static inline CURLcode ccurl_easy_setopt_open_socket(CURL *_Nonnull h, curl_opensocket_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, f);
}
static inline CURLcode ccurl_easy_setopt_close_socket(CURL *_Nonnull h, curl_closesocket_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_CLOSESOCKETFUNCTION, f);
}
static inline CURLcode ccurl_easy_setopt_read(CURL *_Nonnull h, curl_read_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_READFUNCTION, f);
}
static inline CURLcode ccurl_easy_setopt_seek(CURL *_Nonnull h, curl_seek_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, f);
}
static inline CURLcode ccurl_easy_setopt_ssl_context(CURL *_Nonnull h, curl_ssl_ctx_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_SSL_CTX_FUNCTION, f);
}
static inline CURLcode ccurl_easy_setopt_prerequest(CURL *_Nonnull h, curl_prereq_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_PREREQFUNCTION, f);
}
static inline CURLcode ccurl_easy_setopt_debug(CURL *_Nonnull h, curl_debug_callback _Nonnull f) {
  return curl_easy_setopt(h, CURLOPT_DEBUGFUNCTION, f);
}
static inline CURLcode ccurl_easy_getinfo_long(CURL *_Nonnull h, CURLINFO i, long *_Nonnull v) {
  return curl_easy_getinfo(h, i, v);
}
static inline CURLcode ccurl_easy_getinfo_off_t(CURL *_Nonnull h, CURLINFO i, curl_off_t *_Nonnull v) {
  return curl_easy_getinfo(h, i, v);
}
static inline CURLcode ccurl_easy_getinfo_string(CURL *_Nonnull h, CURLINFO i, const char *_Nullable *_Nonnull v) {
  return curl_easy_getinfo(h, i, v);
}
// Returns the connection's SSL *, or NULL without a TLS connection or with another library than OpenSSL.
static inline const void *_Nullable ccurl_easy_get_tls_session(CURL *_Nonnull h) {
  struct curl_tlssessioninfo *info = NULL;
  if (curl_easy_getinfo(h, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
  return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}
static inline CURLMcode ccurl_multi_setopt_long(CURLM *_Nonnull m, CURLMoption o, long v) {
  return curl_multi_setopt(m, o, v);
}
static inline CURLMcode ccurl_multi_setopt_pointer(CURLM *_Nonnull m, CURLMoption o, void *_Nullable v) {
  return curl_multi_setopt(m, o, v);
}
static inline CURLMcode ccurl_multi_setopt_socket(CURLM *_Nonnull m, curl_socket_callback _Nonnull f) {
  return curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, f);
}
static inline CURLMcode ccurl_multi_setopt_timer(CURLM *_Nonnull m, curl_multi_timer_callback _Nonnull f) {
  return curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, f);
}

// Creates a share for the TLS sessions of one multi handle.
static inline CURLSH *_Nullable ccurl_share_init(void) {
  CURLSH *share = curl_share_init();
  if (share) curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  return share;
}
static inline unsigned int ccurl_version_number(void) { return curl_version_info(CURLVERSION_NOW)->version_num; }
static inline const char *_Nullable ccurl_ca_file(void) {
  curl_version_info_data *data = curl_version_info(CURLVERSION_NOW);
  return data->age >= CURLVERSION_SEVENTH ? data->cainfo : NULL;
}

// Swift does not import macros with casts.
static const long ccurl_auth_ntlm = (long)CURLAUTH_NTLM;
static const long ccurl_auth_basic = (long)CURLAUTH_BASIC;
static const size_t ccurl_writefunc_pause = CURL_WRITEFUNC_PAUSE;
static const size_t ccurl_readfunc_pause = CURL_READFUNC_PAUSE;
static const size_t ccurl_readfunc_abort = CURL_READFUNC_ABORT;

// OpenSSL's atexit handler would free data while handles are still in use, so Ferry disables it.
extern int OPENSSL_init_crypto(uint64_t options, const void *_Nullable settings);
static inline void ccurl_global_init(void) {
  OPENSSL_init_crypto(0x00080000L /* OPENSSL_INIT_NO_ATEXIT */, NULL);
  curl_global_init(CURL_GLOBAL_DEFAULT);
}
#endif
