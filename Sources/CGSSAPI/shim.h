#ifndef CGSSAPI_SHIM_H
#define CGSSAPI_SHIM_H
// Creates the token of one request for HTTP's Negotiate scheme (RFC 4559). The object identifiers are macros
// and globals that Swift cannot use, so the calls are in C.
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void cgss_explain(OM_uint32 major, OM_uint32 minor, char *problem, size_t size) {
  gss_buffer_desc words = GSS_C_EMPTY_BUFFER;
  OM_uint32 status, more = 0;
  int kind = minor ? GSS_C_MECH_CODE : GSS_C_GSS_CODE;
  gss_display_status(&status, minor ? minor : major, kind, GSS_C_NO_OID, &more, &words);
  snprintf(problem, size, "%.*s", (int)words.length, (const char *)words.value);
  gss_release_buffer(&status, &words);
}

// - service: `HTTP@host`.
// - user, password: If NULL, the ticket or keytab of the process is used.
// Returns the token, which the caller frees, and its size. On failure, NULL with a message in `problem`.
static inline unsigned char *_Nullable cgss_token(
  const char *_Nonnull service, const char *_Nullable user, const char *_Nullable password, size_t *_Nonnull count,
  char *_Nonnull problem, size_t problem_size) {
  static gss_OID_desc spnego = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
  gss_OID_set_desc mechanisms = {1, &spnego};
  gss_buffer_desc text = {strlen(service), (void *)service}, output = GSS_C_EMPTY_BUFFER;
  gss_name_t target = GSS_C_NO_NAME, name = GSS_C_NO_NAME;
  gss_cred_id_t credential = GSS_C_NO_CREDENTIAL;
  gss_ctx_id_t context = GSS_C_NO_CONTEXT;
  unsigned char *token = NULL;
  OM_uint32 minor = 0, ignored;
  OM_uint32 major = gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &target);
  if (!GSS_ERROR(major) && user && password) {
    gss_buffer_desc login = {strlen(user), (void *)user}, secret = {strlen(password), (void *)password};
    major = gss_import_name(&minor, &login, GSS_C_NT_USER_NAME, &name);
    if (!GSS_ERROR(major))
      major = gss_acquire_cred_with_password(
        &minor, name, &secret, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE, &credential, NULL, NULL);
  }
  if (!GSS_ERROR(major))
    major = gss_init_sec_context(
      &minor, credential, &context, target, &spnego, 0, 0, GSS_C_NO_CHANNEL_BINDINGS, GSS_C_NO_BUFFER, NULL, &output,
      NULL, NULL);
  if (GSS_ERROR(major)) {
    cgss_explain(major, minor, problem, problem_size);
  } else if (output.length && (token = malloc(output.length))) {
    memcpy(token, output.value, *count = output.length);
  }
  gss_release_buffer(&ignored, &output);
  if (context != GSS_C_NO_CONTEXT) gss_delete_sec_context(&ignored, &context, GSS_C_NO_BUFFER);
  if (credential != GSS_C_NO_CREDENTIAL) gss_release_cred(&ignored, &credential);
  gss_release_name(&ignored, &name);
  gss_release_name(&ignored, &target);
  return token;
}
#endif
