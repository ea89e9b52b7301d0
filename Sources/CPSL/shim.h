#ifndef CPSL_SHIM_H
#define CPSL_SHIM_H
// The public suffix list that is built into libpsl. libpsl returns pointers into its argument, which Swift
// cannot keep, so these functions return offsets.
#include <libpsl.h>

// Returns whether the name is a public suffix. A label without a rule counts as one (the list's rule `*`).
static inline int cpsl_is_public_suffix(const char *_Nonnull name) {
  return psl_is_public_suffix2(psl_builtin(), name, PSL_TYPE_ANY);
}

// Returns the offset of the registrable domain in the name, or -1 if it has none.
static inline long cpsl_registrable_offset(const char *_Nonnull name) {
  const char *domain = psl_registrable_domain(psl_builtin(), name);
  return domain ? (long)(domain - name) : -1;
}
#endif
