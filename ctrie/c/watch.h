/* The number of callbacks that the thread is running, of operations that count its changes (_own_changes.py). */
#ifndef CTRIE_WATCH_H
#define CTRIE_WATCH_H

#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local int ctrie_watches;

static inline int ctrie_is_watching(void) { return ctrie_watches != 0; }
static inline void ctrie_watch(int more) { ctrie_watches += more; }

#endif /* CTRIE_WATCH_H */
