#ifndef CPSL_SHIM_H
#define CPSL_SHIM_H
// The public suffix list that libpsl has built in. It answers with pointers into its argument, which Swift could not
// hold: so here they become offsets.
#include <libpsl.h>

// Whether the name is a public suffix; a label that no rule names is one, too (the list's rule `*`).
static inline int cpsl_is_public_suffix(const char *_Nonnull name) {
  return psl_is_public_suffix2(psl_builtin(), name, PSL_TYPE_ANY);
}

// Where the registrable domain begins in the name; negative where it has none.
static inline long cpsl_registrable_offset(const char *_Nonnull name) {
  const char *domain = psl_registrable_domain(psl_builtin(), name);
  return domain ? (long)(domain - name) : -1;
}
#endif
