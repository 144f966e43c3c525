/* The words of a topic, found and hashed in place, eight characters at a time, without making strings.
 *
 * The hash is keyed by a secret that is drawn when the module is imported, so nobody can provoke collisions. It is
 * defined on the characters that CPython stores for the word as a string. A word inside an ASCII topic is stored the
 * same way, so slices and strings agree. There are two kinds of hashes, which differ in the highest bit:
 *
 *   0   for words of at most seven one-byte characters: a bijection of characters and length. Words with the same hash
 *       are equal, so their characters need not be compared
 *   1   for all others, after wyhash: one 64 x 64 -> 128 bit product for eight bytes
 *
 * Three places of a level's first C-node (ctrie/_machine.py) are set aside, for the two wildcards and for the mark
 * (exact_layout.py). So in any level, their branches share their places with no other, and one bit finds each.
 */
#ifndef SUBTRIE_WORDS_H
#define SUBTRIE_WORDS_H

#include "arrays.h"
#include "bytes.h"
#include "packed_key.h"
#ifdef CTRIE_EXPLORED
#include "slot.h"
#endif

enum {
    MARKED_GROUP = CTRIE_GROUPS - 3,
    ONE_WORD_GROUP = CTRIE_GROUPS - 2,
    MANY_WORDS_GROUP = CTRIE_GROUPS - 1,
    SHORT_WORD = 7
};

typedef struct {
    const char *data;   /* borrowed from a string that outlives the word */
    Py_ssize_t length;  /* characters */
    int kind;           /* bytes per character, as in the string that it comes from */
    uint64_t hash;
} word;

static uint64_t word_secret[2];

static inline uint64_t word_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline int in_kept_group(uint64_t hash) { return (hash & (CTRIE_GROUPS - 1)) >= MARKED_GROUP; }

static const uint64_t LONG_WORD = (uint64_t)1 << 63, MOVED = (uint64_t)1 << 62, SHORT_BITS = ((uint64_t)1 << 62) - 1;

/* The hash of a word of `bytes` <= SHORT_WORD one-byte characters, which are in `chunk`. Every step is invertible. */
static inline uint64_t word_hash_short(uint64_t chunk, Py_ssize_t bytes)
{
    uint64_t h = (chunk | (uint64_t)bytes << 56) ^ (word_secret[0] & SHORT_BITS);
    h = h * (word_secret[1] | 1) & SHORT_BITS;
    h ^= h >> 31;
    h = h * 0xd6e8feb86659fd93u & SHORT_BITS;
    h ^= h >> 29;
    return in_kept_group(h) ? (h ^ CTRIE_GROUPS / 2) | MOVED : h;
}

static inline uint64_t word_step(uint64_t h, uint64_t chunk)
{
    return word_mix(h ^ chunk, word_secret[0] ^ 0xd6e8feb86659fd93u);
}

static inline uint64_t word_finish(uint64_t h, Py_ssize_t bytes)
{
    h = word_mix(h ^ (uint64_t)bytes, word_secret[1] ^ 0x9e3779b97f4a7c15u) | LONG_WORD;
    return in_kept_group(h) ? h ^ CTRIE_GROUPS / 2 : h;
}

#ifndef CTRIE_EXPLORED
#define word_is_known(text, bytes, hash) 0
#endif

static inline uint64_t word_hash_bytes(const char *data, Py_ssize_t bytes, int kind)
{
    uint64_t known;
    if (kind == 1 && word_is_known(data, bytes, &known)) {
        return known;
    }
    if (bytes <= SHORT_WORD && kind == 1) {
        return word_hash_short(few_bytes(data, bytes), bytes);
    }
    uint64_t h = word_secret[0];
    Py_ssize_t at = 0;
    for (; bytes - at >= 8; at += 8) {
        h = word_step(h, eight_bytes(data + at));
    }
    return word_finish(bytes > at ? word_step(h, few_bytes(data + at, bytes - at)) : h, bytes);
}

static inline word word_of_string(PyObject *string)
{
    word w;
    w.kind = PyUnicode_KIND(string);
    w.length = PyUnicode_GET_LENGTH(string);
    w.data = PyUnicode_DATA(string);
    w.hash = word_hash_bytes(w.data, w.length * w.kind, w.kind);
    return w;
}

/* Whether two words with the same hash are equal. */
static inline int word_is_word(const word *a, const word *b)
{
    return !(a->hash & LONG_WORD) ||
           (a->length == b->length && a->kind == b->kind && same_bytes(a->data, b->data, a->length * a->kind));
}

/* Whether a word is this string, whatever their hashes. */
static inline int word_is_string(const word *w, PyObject *string)
{
    return w->length == PyUnicode_GET_LENGTH(string) && w->kind == (int)PyUnicode_KIND(string) &&
           same_bytes(w->data, PyUnicode_DATA(string), w->length * w->kind);
}

/* Whether a text holds a word from `start` to `end`. */
static inline int word_is_part(const word *w, const characters *text, Py_ssize_t start, Py_ssize_t end)
{
    characters part = {w->data, w->length, w->kind};
    return w->length == end - start && characters_stand_at(text, start, &part);
}

/* Not inline, since short words do not need it. */
__attribute__((noinline)) static int long_word_begins(const word *w, const packed_text *text, Py_UCS4 separator)
{
    characters c = packed_characters(text);
    return word_is_part(w, &c, 0, w->length) && (c.length == w->length || character_at(&c, w->length) == separator);
}

/* Whether a word is the first word of a text. Their hashes are the same. */
static inline int word_begins(const word *w, const packed_text *text, Py_UCS4 separator)
{
    return !(w->hash & LONG_WORD) || long_word_begins(w, text, separator);
}

static const uint64_t LOW_BITS = 0x7f7f7f7f7f7f7f7fu;

/* 0x80 in every byte of x that is zero, and nowhere else. */
static inline uint64_t zero_bytes(uint64_t x) { return ~(((x & LOW_BITS) + LOW_BITS) | x | LOW_BITS); }

static inline uint64_t repeated(unsigned char byte) { return 0x0101010101010101u * byte; }

/* ASCII text, read eight bytes at a time from anywhere in it, and never outside of it. */
typedef struct {
    const char *data;
    Py_ssize_t length;
    Py_ssize_t tail_at;     /* where the last eight bytes begin; 0 in a shorter text */
    uint64_t tail;
} text;

static inline text text_of(const char *data, Py_ssize_t length)
{
    text t = {data, length, 0, 0};
    if (length >= 8) {
        t.tail_at = length - 8;
        t.tail = eight_bytes(data + t.tail_at);
    } else {
        t.tail = few_bytes(data, length);
    }
    return t;
}

/* The eight bytes from `at` on, which is before the end; zero beyond the end. */
static inline uint64_t text_chunk(const text *t, Py_ssize_t at)
{
    return at < t->tail_at ? eight_bytes(t->data + at) : t->tail >> 8 * (at - t->tail_at);
}

/* The same as word_hash_bytes, for a word of a text. */
static inline uint64_t word_hash_in_text(const text *t, Py_ssize_t start, Py_ssize_t bytes)
{
    uint64_t known;
    if (bytes > SHORT_WORD) {
        return word_hash_bytes(t->data + start, bytes, 1);
    }
    if (word_is_known(t->data + start, bytes, &known)) {
        return known;
    }
    return word_hash_short(bytes == 0 ? 0 : text_chunk(t, start) & ~(uint64_t)0 >> (64 - 8 * bytes), bytes);
}

typedef struct {
    uint64_t separators;        /* the separator, eight times */
    uint64_t specials[8];       /* characters that need closer inspection, each eight times */
    int special_count;
    int empty_ordinary;         /* whether empty words are ordinary words */
} word_rules;

static inline int has_special(const word_rules *rules, uint64_t chunk)
{
    uint64_t found = 0;
    for (int i = 0; i < rules->special_count; i++) {
        found |= zero_bytes(chunk ^ rules->specials[i]);
    }
    return found != 0;
}

/* Split ASCII text into words and hash them. Returns their number, or -1 if the dialect has to inspect the text: it has
 * a special character, an empty word that is not ordinary, or more than `most` words. */
static inline Py_ssize_t words_split(const char *data, Py_ssize_t length, const word_rules *rules, word *words,
                                     Py_ssize_t most)
{
    text t = text_of(data, length);
    Py_ssize_t count = 0, start = 0;
    for (Py_ssize_t at = 0; at < length; at += 8) {
        uint64_t chunk = text_chunk(&t, at);
        if (length - at < 8) {      /* beyond the end: bytes that are not ASCII characters */
            chunk |= ~(uint64_t)0 << 8 * (length - at);
        }
        if (has_special(rules, chunk)) {
            return -1;
        }
        for (uint64_t ends = zero_bytes(chunk ^ rules->separators); ends != 0; ends &= ends - 1) {
            Py_ssize_t end = at + (__builtin_ctzll(ends) >> 3);
            if (count == most || (end == start && !rules->empty_ordinary)) {
                return -1;
            }
            words[count++] = (word){data + start, end - start, 1, word_hash_in_text(&t, start, end - start)};
            start = end + 1;
        }
    }
    if (count == most || (start == length && !rules->empty_ordinary)) {
        return -1;
    }
    words[count++] = (word){data + start, length - start, 1, word_hash_in_text(&t, start, length - start)};
    return count;
}

#endif /* SUBTRIE_WORDS_H */
