/* Bytes, read eight at a time, and never outside of the given range. */
#ifndef SUBTRIE_BYTES_H
#define SUBTRIE_BYTES_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t eight_bytes(const char *data)
{
    uint64_t bytes;
    memcpy(&bytes, data, 8);
    return bytes;
}

/* Fewer than eight bytes, low byte first, the rest zero. Read by overlapping loads inside the range. */
static inline uint64_t few_bytes(const char *data, Py_ssize_t size)
{
    if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, data, 4);
        memcpy(&last, data + size - 4, 4);
        return first | (uint64_t)last << 8 * (size - 4);
    }
    if (size == 0) {
        return 0;
    }
    const unsigned char *c = (const unsigned char *)data;
    return c[0] | (uint64_t)c[size >> 1] << 8 * (size >> 1) | (uint64_t)c[size - 1] << 8 * (size - 1);
}

/* Whether the bytes at two addresses are the same. Inline: for most texts, which are short, a call of memcmp takes longer. */
static inline int same_bytes(const char *a, const char *b, Py_ssize_t size)
{
    for (; size >= 8; size -= 8, a += 8, b += 8) {
        if (eight_bytes(a) != eight_bytes(b)) {
            return 0;
        }
    }
    return few_bytes(a, size) == few_bytes(b, size);
}

#endif /* SUBTRIE_BYTES_H */
