#include "cprocess.h"

#if __has_include("stamp.h")
#include "stamp.h"
#endif
#ifndef FERRY_COMMIT
#define FERRY_COMMIT "unknown"
#endif
#ifndef FERRY_SWIFT
#define FERRY_SWIFT "unknown"
#endif

const char *const cprocess_commit = FERRY_COMMIT;
const char *const cprocess_swift = FERRY_SWIFT;
