#ifndef CPROCESS_H
#define CPROCESS_H
// Functions for processes that must be C. This header includes no system header, because Swift would attribute
// its types to this module.

/// Makes the process leave an empty file at this path if it crashes (a trap, a bad access, an abort).
void cprocess_mark_crashes(const char *_Nonnull path);

/// Closes the descriptors from `first` in the program that is started with these actions (a
/// posix_spawn_file_actions_t).
int cprocess_close_from(void *_Nonnull actions, int first);
/// Sets the program's working directory.
int cprocess_chdir(void *_Nonnull actions, const char *_Nonnull directory);

/// Marks the calling thread as the thread of an event loop, and returns whether it is marked.
void cprocess_become_loop_thread(void);
int cprocess_is_loop_thread(void);

/// The commit of the program in hexadecimal digits, with a plus sign if files had changed. Without scripts/stamp.sh,
/// the commit is "unknown".
extern const char *_Nonnull const cprocess_commit;
/// The version of Swift that built the program, or "unknown".
extern const char *_Nonnull const cprocess_swift;

#endif
