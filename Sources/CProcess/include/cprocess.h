#ifndef CPROCESS_H
#define CPROCESS_H
// What has to be C of how processes begin and end. No header of the system's: Swift would take its types for this module's.

/// Where the process dies by its own fault (a trap, a bad access, an abort), it leaves an empty file of that name.
void cprocess_mark_crashes(const char *_Nonnull path);

/// The program that is started with these actions (a posix_spawn_file_actions_t) gets no descriptor from `first` on.
int cprocess_close_from(void *_Nonnull actions, int first);
/// It begins in that directory.
int cprocess_begin_in(void *_Nonnull actions, const char *_Nonnull directory);

/// The calling thread is an event loop's from here on; whether it is.
void cprocess_become_loop_thread(void);
int cprocess_is_loop_thread(void);

/// The commit that the program was built of, in hexadecimal digits, with a plus sign where files had changed; "unknown" where the build
/// did not say it (scripts/stamp.sh does).
extern const char *_Nonnull const cprocess_commit;
/// The version of Swift that built the program, or "unknown".
extern const char *_Nonnull const cprocess_swift;

#endif
