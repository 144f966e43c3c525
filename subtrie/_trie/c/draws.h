/* Draws by lot, from a deck for each thread and each module that includes this; draws.py says what a deck is. */
#ifndef SUBTRIE_DRAWS_H
#define SUBTRIE_DRAWS_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { DECK = 64, PART_BITS = 58 };

typedef struct {
    uint64_t state;
    unsigned left, step, card;
    pid_t process;
} draws_deck;

#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
static _Thread_local draws_deck deck;

/* Two threads, or two processes, that begin in the same nanosecond have other stacks, or other numbers. */
static __attribute__((noinline, cold)) void draws_begin(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    deck.process = getpid();
    deck.state ^= (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)now.tv_sec << 40 ^ (uint64_t)(uintptr_t)&deck ^
                  (uint64_t)deck.process << 20;
}

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t draw_word(void)
{
#ifdef CTRIE_EXPLORED
    return 0; /* schedules are repeated, so what is drawn must be, too */
#endif
    if (deck.process == 0) {
        draws_begin();
    }
    uint64_t x = deck.state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t draw_again(uint64_t size)
{
#ifdef CTRIE_EXPLORED
    return 0 * size;
#endif
    return (uint64_t)((unsigned __int128)draw_word() * size >> 64);
}

static inline uint64_t draw(uint64_t size)
{
#ifdef CTRIE_EXPLORED
    return 0 * size;
#endif
    if (deck.left == 0) {
        if (deck.process != getpid()) {
            draws_begin();
        }
        deck.left = DECK;
        deck.step = (unsigned)draw_word() | 1;
        deck.card = (unsigned)draw_word();
    }
    deck.left--;
    deck.card += deck.step;
    uint64_t drawn = (uint64_t)(deck.card % DECK) << PART_BITS | draw_word() >> (64 - PART_BITS);
    return (uint64_t)((unsigned __int128)drawn * size >> 64);
}

#endif /* SUBTRIE_DRAWS_H */
