# SPDX-License-Identifier: Apache-2.0
"""Numbers that look random and are the same to the bit in every framework: a hash of their place, not a framework's generator.

The hash is lowbias32 (Chris Wellons, "Prospecting for Hash Functions", 2018, public domain). A block is computed once; each weight begins at
a place of its own in it and goes round. Its length is a prime, so that no two rows of a matrix are alike.
"""
LENGTH = 4194301
MASK = 0xFFFFFFFF


def mix(places):
    """A hash of 32 bits; of an int, or of an array of integers of 64 bits, whose products may wrap round: only the low half counts."""
    places = (places ^ (places >> 16)) * 0x7FEB352D & MASK
    places = (places ^ (places >> 15)) * 0x846CA68B & MASK
    return places ^ (places >> 16)


def spread(places):
    """From -1 up to 1, each of which 32 bits hold exactly."""
    return (mix(places) >> 8) / float(1 << 23) - 1.0


def place(key):
    return mix((key * 0x9E3779B1 + 1) & MASK) % LENGTH


def fill(target, block, key):
    """Writes the numbers of a weight into a flat array."""
    begin, done = place(key), 0
    while done < len(target):
        count = min(LENGTH - begin, len(target) - done)
        target[done:done + count] = block[begin:begin + count]
        begin, done = 0, done + count


def numbers(count, key):
    """The same without any framework."""
    begin = place(key)
    return [spread((begin + index) % LENGTH) for index in range(count)]


def tokens(count, vocabulary, key):
    return [mix((key << 24) + index & MASK) % vocabulary for index in range(count)]
