#ifndef CDASHBOARD_H
#define CDASHBOARD_H
// The files of the folder Assets, in the program. This header includes no system header, because Swift would attribute its types to
// this module.

/// A file: its path below Assets, its bytes and their number.
typedef struct {
  const char *_Nonnull name;
  const unsigned char *_Nonnull bytes;
  unsigned long size;
} DashboardFile;

/// The number of files.
extern const unsigned long cdashboard_count;
/// Returns a file, in the order of the names.
const DashboardFile *_Nonnull cdashboard_file(unsigned long index);

#endif
