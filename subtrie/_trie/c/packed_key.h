/* A text in eight bytes, and as few more as it needs.
 *
 * A trie of a million filters has a million texts, most of one to three words. A string object takes 40 to 60 bytes
 * besides the characters, more than anything else in a subscription except its branch. Here up to seven one-byte
 * characters are in the field itself, after a byte with their number. Longer texts are on the heap, after four bytes
 * with the number and the kind of their characters. A packed text never changes.
 */
#ifndef SUBTRIE_PACKED_H
#define SUBTRIE_PACKED_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a text's first character must be in the lowest byte; on this machine it is not, so use the interpreted twin"
#endif

enum { INLINE_BYTES = 7 };

typedef struct {
    uint32_t size;              /* length << 2 | kind >> 1 */
    char data[];
} packed_far;

typedef union {
    unsigned char here[8];      /* length << 1 | 1, characters */
    packed_far *far;            /* an even address, or NULL before there is a text */
} packed_text;

/* Characters in memory that belongs to another object. */
typedef struct {
    const char *data;
    Py_ssize_t length;
    int kind;                   /* bytes per character: 1, 2 or 4 */
} characters;

static inline characters characters_of(PyObject *string)
{
    return (characters){PyUnicode_DATA(string), PyUnicode_GET_LENGTH(string), PyUnicode_KIND(string)};
}

static inline int packed_is_here(const packed_text *text) { return text->here[0] & 1; }

static inline characters packed_characters(const packed_text *text)
{
    if (packed_is_here(text)) {
        return (characters){(const char *)text->here + 1, text->here[0] >> 1, 1};
    }
    uint32_t size = text->far->size, kind = (size & 3) << 1;
    return (characters){text->far->data, size >> 2, kind ? (int)kind : 1};
}

static inline int packed_keep(packed_text *text, characters c)
{
    if (c.kind == 1 && c.length <= INLINE_BYTES) {
        text->here[0] = (unsigned char)(c.length << 1 | 1);
        memcpy(text->here + 1, c.data, (size_t)c.length);
        return 0;
    }
    text->far = c.length < 1 << 30 ? PyMem_Malloc(sizeof(packed_far) + (size_t)(c.length * c.kind)) : NULL;
    if (text->far == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    text->far->size = (uint32_t)c.length << 2 | (uint32_t)c.kind >> 1;
    memcpy(text->far->data, c.data, (size_t)(c.length * c.kind));
    return 0;
}

static inline int packed_set(packed_text *text, PyObject *string) { return packed_keep(text, characters_of(string)); }

static inline int packed_copy(packed_text *text, const packed_text *other)
{
    if (packed_is_here(other)) {
        *text = *other;
        return 0;
    }
    return packed_keep(text, packed_characters(other));
}

static inline void packed_free(packed_text *text)
{
    if (!packed_is_here(text)) {
        PyMem_Free(text->far);
    }
}

static inline PyObject *packed_string(const packed_text *text)
{
    if (text->far == NULL) {
        return PyUnicode_New(0, 0);
    }
    characters c = packed_characters(text);
    return PyUnicode_FromKindAndData(c.kind, c.data, c.length);
}

/* Whether a text has `part` at `at`. */
static inline int characters_stand_at(const characters *text, Py_ssize_t at, const characters *part)
{
    if (text->length - at < part->length) {
        return 0;
    }
    const char *there = text->data + at * text->kind;
    if (text->kind == part->kind) {
        return memcmp(there, part->data, (size_t)(part->length * part->kind)) == 0;
    }
    for (Py_ssize_t i = 0; i < part->length; i++) {
        if (PyUnicode_READ(text->kind, there, i) != PyUnicode_READ(part->kind, part->data, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether `word` is the first word of a text. */
static inline int packed_begins(const packed_text *text, PyObject *word, PyObject *separator)
{
    characters c = packed_characters(text), w = characters_of(word), s = characters_of(separator);
    return characters_stand_at(&c, 0, &w) && (c.length == w.length || characters_stand_at(&c, w.length, &s));
}

static inline Py_UCS4 character_at(const characters *text, Py_ssize_t at)
{
    return PyUnicode_READ(text->kind, text->data, at);
}

/* Where the first `separator` in a text from `at` on is, or the end. */
static inline Py_ssize_t word_end(const characters *text, Py_ssize_t at, Py_UCS4 separator)
{
    while (at < text->length && character_at(text, at) != separator) {
        at++;
    }
    return at;
}

/* How many of a text's first words agree with the tuple `words` from `start` on; None agrees with any word. Negative if
   the text has more words. */
static inline Py_ssize_t packed_followed(const packed_text *text, PyObject *words, Py_ssize_t start, PyObject *separator)
{
    characters c = packed_characters(text), s = characters_of(separator);
    Py_ssize_t at = 0, followed = 0;
    while (start + followed < PyTuple_GET_SIZE(words)) {
        PyObject *word = PyTuple_GET_ITEM(words, start + followed);
        if (word == Py_None) {
            at = word_end(&c, at, character_at(&s, 0));
        } else {
            characters w = characters_of(word);
            if (!characters_stand_at(&c, at, &w)) {
                break;
            }
            at += w.length;
        }
        if (at == c.length) {
            return followed + 1;
        }
        if (!characters_stand_at(&c, at, &s)) {
            break;
        }
        at += s.length;
        followed++;
    }
    return -followed;
}

#endif /* SUBTRIE_PACKED_H */
