/* The words of a topic in place: found and hashed eight characters at a time, without making a string of any.
 *
 * The hash is keyed by a secret drawn when the module is imported, so that nobody can prepare words that collide. It
 * is defined on the characters that CPython stores for the word as a string of its own; a word inside an ASCII topic
 * is stored the same way, so slices and strings agree. After wyhash: one 64 x 64 -> 128 bit product a step.
 *
 * Two of the 32 groups of the lowest five bits are kept for the wildcards of a filter (ctrie/_nodes.py: a C-node
 * branches on five bits), so that in any level a wildcard's branch stands alone in its place and is found by one bit.
 */
#ifndef SUBTRIE_WORDS_H
#define SUBTRIE_WORDS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { ONE_WORD_GROUP = 30, MANY_WORDS_GROUP = 31, GROUPS_MASK = 31 };

typedef struct {
    const char *data;   /* borrowed from a string that outlives the word */
    Py_ssize_t length;  /* characters */
    int kind;           /* bytes a character, with the topic's or word's own */
    uint64_t hash;
} word;

static uint64_t word_secret[2];

static inline uint64_t word_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t word_finish(uint64_t h, Py_ssize_t bytes)
{
    h = word_mix(h ^ (uint64_t)bytes, word_secret[1] ^ 0x9e3779b97f4a7c15u);
    return (h & GROUPS_MASK) >= ONE_WORD_GROUP ? h ^ 16 : h;
}

static inline uint64_t word_step(uint64_t h, uint64_t chunk)
{
    return word_mix(h ^ chunk, word_secret[0] ^ 0xd6e8feb86659fd93u);
}

/* The next at most eight bytes, low byte first, the rest zero. */
static inline uint64_t word_chunk(const char *data, Py_ssize_t left)
{
    uint64_t chunk = 0;
    memcpy(&chunk, data, left >= 8 ? 8 : (size_t)left);
    return chunk;
}

static inline uint64_t word_hash_bytes(const char *data, Py_ssize_t bytes)
{
    uint64_t h = word_secret[0];
    for (Py_ssize_t at = 0; at < bytes; at += 8) {
        h = word_step(h, word_chunk(data + at, bytes - at));
    }
    return word_finish(h, bytes);
}

static inline word word_of_string(PyObject *string)
{
    word w;
    w.kind = PyUnicode_KIND(string);
    w.length = PyUnicode_GET_LENGTH(string);
    w.data = PyUnicode_DATA(string);
    w.hash = word_hash_bytes(w.data, w.length * w.kind);
    return w;
}

static inline int word_is_string(const word *w, PyObject *string)
{
    return PyUnicode_GET_LENGTH(string) == w->length && (int)PyUnicode_KIND(string) == w->kind &&
           memcmp(PyUnicode_DATA(string), w->data, (size_t)(w->length * w->kind)) == 0;
}

/* 0x80 in the lowest byte of x that is zero, and perhaps in higher ones. */
static inline uint64_t zero_bytes(uint64_t x) { return (x - 0x0101010101010101u) & ~x & 0x8080808080808080u; }

static inline uint64_t repeated(unsigned char byte) { return 0x0101010101010101u * byte; }

/* Split ASCII text into words and hash them. Returns their number, or -1 where a look by other means is needed: at a
 * character in `special`, at an empty word if those are not ordinary, or at more than `most` words. */
static inline Py_ssize_t words_split(const char *text, Py_ssize_t length, char separator, const char *special,
                                     Py_ssize_t specials, int empty_ordinary, word *words, Py_ssize_t most)
{
    Py_ssize_t count = 0, start = 0, at = 0;
    uint64_t separators = repeated((unsigned char)separator), h = word_secret[0];
    for (;;) {
        Py_ssize_t left = length - at, size = left < 8 ? left : 8;
        uint64_t chunk = word_chunk(text + at, left);
        uint64_t ends = zero_bytes(chunk ^ separators);
        int ended = ends != 0;
        if (ended) {
            size = __builtin_ctzll(ends) >> 3;
            chunk &= size == 0 ? 0 : ~(uint64_t)0 >> (64 - 8 * size);
        }
        if (size > 0) {
            /* Bytes beyond the word are made 0xff, which no special character is. */
            uint64_t beyond = size == 8 ? 0 : ~(uint64_t)0 << (8 * size);
            for (Py_ssize_t i = 0; i < specials; i++) {
                if (zero_bytes((chunk ^ repeated((unsigned char)special[i])) | beyond)) {
                    return -1;
                }
            }
            h = word_step(h, chunk);
            at += size;
        }
        if (ended || at == length) {
            if (count == most || (at == start && !empty_ordinary)) {
                return -1;
            }
            words[count++] = (word){text + start, at - start, 1, word_finish(h, at - start)};
            if (!ended) {
                return count;
            }
            start = ++at;
            h = word_secret[0];
            if (at == length) {     /* the text ends with a separator: one more word, an empty one */
                if (count == most || !empty_ordinary) {
                    return -1;
                }
                words[count++] = (word){text + at, 0, 1, word_finish(h, 0)};
                return count;
            }
        }
    }
}

#endif /* SUBTRIE_WORDS_H */
