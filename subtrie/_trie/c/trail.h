/* Trails: the paths of a match to the filters that it found. So their texts need not be made until the caller asks.
 *
 * A trail holds the text of all filters of one answer, each word or chain once, and the topic, so that a delivery can
 * tell what wildcards stood for. It is an array of machine words. The first one says what matters of the dialect, and
 * where the topic is:
 *
 *   separator, wildcard for one word, wildcard for many, the least number of those     8 bits each
 *   the record of the topic                                                            32 bits
 *
 * The others are records, numbered by where they are in the array:
 *
 *   above (32 bits)     the record of the words before these, or 0
 *   size (32 bits)      length << 2 | kind >> 1, as in packed_key.h
 *   characters          in as many machine words as they need
 *
 * The record of the topic is the last one, or the last but one: before that of the word by which shared subscriptions
 * begin, where there may be groups, if the dialect has such a word.
 *
 * A trail holds characters and no nodes, so an answer that a caller keeps does not keep parts of the trie alive.
 */
#ifndef SUBTRIE_TRAIL_H
#define SUBTRIE_TRAIL_H

#include "buffer.h"
#include "packed_key.h"

typedef struct {
    uint32_t above;
    uint32_t size;
    char data[];
} trail_record;

/* Add a record of characters from `start` on. Returns its number, or 0 if there is no memory. */
static inline Py_ssize_t trail_put(buffer *trail, uint64_t above, characters c, Py_ssize_t start)
{
    size_t bytes = (size_t)((c.length - start) * c.kind);
    Py_ssize_t room = 1 + (Py_ssize_t)((bytes + 7) / 8), at = trail->count;
    uint64_t *words = at + room <= UINT32_MAX ? buffer_room_for(trail, room) : NULL;
    if (words == NULL) {
        return 0;
    }
    trail_record *record = (trail_record *)words;
    words[room - 1] = 0;    /* no old bytes of the stack get into a trail */
    record->above = (uint32_t)above;
    record->size = (uint32_t)(c.length - start) << 2 | (uint32_t)c.kind >> 1;
    memcpy(record->data, c.data + start * c.kind, bytes);
    trail->count += room;
    return at;
}

static inline Py_ssize_t trail_add(buffer *trail, uint64_t above, const packed_text *text, Py_ssize_t start)
{
    return trail_put(trail, above, packed_characters(text), start);
}

static inline Py_ssize_t trail_put_text(buffer *trail, PyObject *text)
{
    characters c = {PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), (int)PyUnicode_KIND(text)};
    return c.length < 1 << 30 ? trail_put(trail, 0, c, 0) : 0;
}

/* Write the first machine word, and the records of the topic and of `share`, unless that is None. Returns 0 if there is no
 * memory. */
static inline int trail_end(buffer *trail, PyObject *topic, Py_UCS4 separator, Py_UCS4 one, Py_UCS4 many, int many_min,
                            PyObject *share)
{
    Py_ssize_t number = trail_put_text(trail, topic);
    if (share != Py_None && trail_put_text(trail, share) == 0) {
        return 0;
    }
    trail->items[0] = separator | one << 8 | many << 16 | (uint64_t)many_min << 24 | (uint64_t)number << 32;
    return number != 0;
}

static inline int trail_kind(const trail_record *record) { return record->size & 3 ? (int)(record->size & 3) << 1 : 1; }

/* The text of the filter that ends with record number `at` of a trail, which is a bytes object. */
static PyObject *trail_text(PyObject *trail, Py_ssize_t at)
{
    enum { FEW = 512 };
    const uint64_t *words = (const uint64_t *)PyBytes_AS_STRING(trail);
    Py_UCS4 separator = words[0] & 0xff;
    int kind = 1;
    Py_ssize_t length = -1;     /* there is no separator before the first word */
    for (Py_ssize_t i = at; i != 0; i = ((const trail_record *)(words + i))->above) {
        const trail_record *record = (const trail_record *)(words + i);
        length += 1 + (Py_ssize_t)(record->size >> 2);
        kind = trail_kind(record) > kind ? trail_kind(record) : kind;
    }
    if (length <= 0) {
        return PyUnicode_New(0, 0);
    }
    Py_UCS4 room[FEW / 4];      /* aligned for every kind */
    char *here = (char *)room, *text = here;
    if (length * kind > FEW && (text = PyMem_Malloc((size_t)(length * kind))) == NULL) {
        return PyErr_NoMemory();
    }
    Py_ssize_t end = length;
    for (Py_ssize_t i = at; i != 0; i = ((const trail_record *)(words + i))->above) {
        const trail_record *record = (const trail_record *)(words + i);
        Py_ssize_t size = record->size >> 2, start = end - size;
        if (trail_kind(record) == kind) {
            memcpy(text + start * kind, record->data, (size_t)(size * kind));
        } else {
            for (Py_ssize_t j = 0; j < size; j++) {
                PyUnicode_WRITE(kind, text, start + j, PyUnicode_READ(trail_kind(record), record->data, j));
            }
        }
        if (start > 0) {
            PyUnicode_WRITE(kind, text, start - 1, separator);
        }
        end = start - 1;
    }
    PyObject *string = PyUnicode_FromKindAndData(kind, text, length);
    if (text != here) {
        PyMem_Free(text);
    }
    return string;
}

/* What the first machine word says: separator and wildcards in one string, and the least number of words. */
static inline PyObject *trail_marks(PyObject *trail)
{
    const uint64_t first = *(const uint64_t *)PyBytes_AS_STRING(trail);
    const Py_UCS1 marks[] = {first & 0xff, first >> 8 & 0xff, first >> 16 & 0xff};
    return PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, marks, 3);
}

static inline int trail_many_min(PyObject *trail) { return *(const uint64_t *)PyBytes_AS_STRING(trail) >> 24 & 0xff; }
static inline Py_ssize_t trail_topic(PyObject *trail) { return *(const uint64_t *)PyBytes_AS_STRING(trail) >> 32; }

/* The word by which shared subscriptions begin, or None. */
static inline PyObject *trail_share(PyObject *trail)
{
    Py_ssize_t at = trail_topic(trail);
    const trail_record *topic = (const trail_record *)((const uint64_t *)PyBytes_AS_STRING(trail) + at);
    at += 1 + ((Py_ssize_t)(topic->size >> 2) * trail_kind(topic) + 7) / 8;
    return at * (Py_ssize_t)sizeof(uint64_t) == PyBytes_GET_SIZE(trail) ? Py_NewRef(Py_None) : trail_text(trail, at);
}

#endif /* SUBTRIE_TRAIL_H */
