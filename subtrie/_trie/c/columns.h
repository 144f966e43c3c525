/* Growing columns in Arrow's layout: bytes, and texts as UTF-8 with their ends. */
#ifndef SUBTRIE_COLUMNS_H
#define SUBTRIE_COLUMNS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "bytes.h"
#include "packed_key.h"

typedef struct {
    char *data;
    Py_ssize_t used, room;
} growing;

/* Return where `more` bytes go; NULL with MemoryError if there is no memory. The caller adds to `used`. */
static inline char *growing_room(growing *g, Py_ssize_t more)
{
    if (g->data == NULL || g->room - g->used < more) {
        Py_ssize_t room = g->room + g->room / 2 + more + 64;
        char *data = PyMem_RawRealloc(g->data, (size_t)room);
        if (data == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        g->data = data;
        g->room = room;
    }
    return g->data + g->used;
}

static inline void growing_free(growing *g)
{
    PyMem_RawFree(g->data);
    g->data = NULL;
    g->used = g->room = 0;
}

static inline int growing_add(growing *g, const char *data, Py_ssize_t size)
{
    char *room = growing_room(g, size);
    if (room == NULL) {
        return -1;
    }
    if (size > 0) {     /* of what has never been filled, `data` is NULL, which memcpy must not get */
        memcpy(room, data, (size_t)size);
        g->used += size;
    }
    return 0;
}

static inline int growing_add_int(growing *g, int32_t number)
{
    return growing_add(g, (const char *)&number, sizeof number);
}

/* Add bit number `at` to a column of bits that has all bits before it. */
static inline int growing_add_bit(growing *g, Py_ssize_t at, int bit)
{
    if ((at & 7) == 0 && growing_add(g, "", 1) < 0) {
        return -1;
    }
    g->data[at >> 3] |= (char)(bit << (at & 7));
    return 0;
}

static inline int is_ascii_text(const char *data, Py_ssize_t size)
{
    uint64_t all = 0;
    for (; size >= 8; size -= 8, data += 8) {
        all |= eight_bytes(data);
    }
    return !((all | few_bytes(data, size)) & 0x8080808080808080u);
}

static inline char *utf8_of_character(char *to, Py_UCS4 c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* Add a text as UTF-8. Returns 1, and adds nothing, if it has a lone surrogate; -1 with MemoryError. */
static inline int growing_add_text(growing *g, characters c)
{
    if (c.kind == 1 && is_ascii_text(c.data, c.length)) {
        return growing_add(g, c.data, c.length);
    }
    char *to = growing_room(g, 4 * c.length), *start = to;
    if (to == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < c.length; i++) {
        Py_UCS4 character = PyUnicode_READ(c.kind, c.data, i);
        if (character >= 0xd800 && character < 0xe000) {
            return 1;
        }
        to = utf8_of_character(to, character);
    }
    g->used += to - start;
    return 0;
}

static inline int growing_add_digits(growing *g, long long number)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long long left = number < 0 ? 0ull - (unsigned long long)number : (unsigned long long)number;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (number < 0) {
        *--at = '-';
    }
    return growing_add(g, at, digits + sizeof digits - at);
}

/* Whether a text reads like a written integer: digits, perhaps after a minus sign. */
static inline int is_integer_text(characters c)
{
    Py_ssize_t at = c.length > 1 && PyUnicode_READ(c.kind, c.data, 0) == '-';
    if (at == c.length) {
        return 0;
    }
    for (; at < c.length; at++) {
        Py_UCS4 character = PyUnicode_READ(c.kind, c.data, at);
        if (character < '0' || character > '9') {
            return 0;
        }
    }
    return 1;
}

/* Set the flag, and return whether it was set before: one thread at a time fills columns. */
static inline int set_flag(char *flag) { return __atomic_exchange_n(flag, 1, __ATOMIC_ACQ_REL); }
static inline void clear_flag(char *flag) { __atomic_store_n(flag, 0, __ATOMIC_RELEASE); }

#endif /* SUBTRIE_COLUMNS_H */
