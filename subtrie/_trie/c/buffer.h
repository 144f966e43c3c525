/* Buffers of machine words, mostly pointers. A buffer is on the caller's stack until it needs more room. Nothing here
 * runs Python code or needs the GIL. */
#ifndef SUBTRIE_BUFFER_H
#define SUBTRIE_BUFFER_H

#include <Python.h>
#include <string.h>

enum { BUFFER_ROOM = 512 };     /* how many words one holds before it needs the heap */

typedef struct {
    uint64_t *items;
    Py_ssize_t count;
    Py_ssize_t capacity;
    uint64_t room[BUFFER_ROOM];
} buffer;

static inline void buffer_start(buffer *b)
{
    b->items = b->room;
    b->count = 0;
    b->capacity = BUFFER_ROOM;
}

static inline void buffer_free(buffer *b)
{
    if (b->items != b->room) {
        PyMem_RawFree(b->items);
    }
}

/* Returns 0, and changes nothing, if there is no memory. */
static __attribute__((noinline, cold)) int buffer_grow(buffer *b)
{
    size_t size = 2 * (size_t)b->capacity * sizeof(uint64_t);
    uint64_t *larger = b->items == b->room ? PyMem_RawMalloc(size) : PyMem_RawRealloc(b->items, size);
    if (larger == NULL) {
        return 0;
    }
    if (b->items == b->room) {
        memcpy(larger, b->room, sizeof(b->room));
    }
    b->items = larger;
    b->capacity *= 2;
    return 1;
}

static inline int buffer_push(buffer *b, uint64_t item)
{
    if (b->count == b->capacity && !buffer_grow(b)) {
        return 0;
    }
    b->items[b->count++] = item;
    return 1;
}

static inline int buffer_push_pair(buffer *b, uint64_t one, uint64_t two)
{
    return buffer_push(b, one) && buffer_push(b, two);
}

/* Return where the next items go, `more` at most; NULL if there is no memory. A caller that writes many items this
 * way need not wait for the count, which is in memory, before each. */
static inline uint64_t *buffer_room_for(buffer *b, Py_ssize_t more)
{
    while (b->capacity - b->count < more) {
        if (!buffer_grow(b)) {
            return NULL;
        }
    }
    return b->items + b->count;
}

#endif
