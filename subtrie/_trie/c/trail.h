/* Trails: the paths of a match to the filters that it found. So their texts need not be made until the caller asks.
 *
 * A trail holds the text of all filters of one answer, each word or chain once. It is an array of machine words. The
 * first is the separator. The others are records, named by their places in the array:
 *
 *   above (32 bits)     the record of the words before these, or 0
 *   size (32 bits)      length << 2 | kind >> 1, as in packed_key.h
 *   characters          in as many machine words as they need
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

/* Add a record of a text's characters from `start` on. Returns its place, or 0 if there is no memory. */
static inline Py_ssize_t trail_add(buffer *trail, uint64_t above, const packed_text *text, Py_ssize_t start)
{
    characters c = packed_characters(text);
    size_t bytes = (size_t)((c.length - start) * c.kind);
    Py_ssize_t room = 1 + (Py_ssize_t)((bytes + 7) / 8), at = trail->count;
    uint64_t *place = at + room <= UINT32_MAX ? buffer_room_for(trail, room) : NULL;
    if (place == NULL) {
        return 0;
    }
    trail_record *record = (trail_record *)place;
    place[room - 1] = 0;    /* no old bytes of the stack get into a trail */
    record->above = (uint32_t)above;
    record->size = (uint32_t)(c.length - start) << 2 | (uint32_t)c.kind >> 1;
    memcpy(record->data, c.data + start * c.kind, bytes);
    trail->count += room;
    return at;
}

static inline int trail_kind(const trail_record *record) { return record->size & 3 ? (int)(record->size & 3) << 1 : 1; }

/* The text of the filter that ends with the record at place `at` of a trail, which is a bytes object. */
static PyObject *trail_text(PyObject *trail, Py_ssize_t at)
{
    enum { FEW = 512 };
    const uint64_t *words = (const uint64_t *)PyBytes_AS_STRING(trail);
    Py_UCS4 separator = (Py_UCS4)words[0];
    int kind = separator > 0xffff ? 4 : separator > 0xff ? 2 : 1;
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

#endif /* SUBTRIE_TRAIL_H */
