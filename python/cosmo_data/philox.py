"""The toolkit's random numbers: Philox4x32-10 of Salmon et al. 2011 (doi:10.1145/2063384.2063405), a pure function of seed, purpose and index."""

AUGMENTATION = 8  # the purpose of the numbers that choose symmetries

_FACTORS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_WORD = 0xFFFFFFFF


def philox(counter, key):
    """Four 32-bit words from four words of counter and two of key."""
    a, b, c, d = counter
    left, right = key
    for _ in range(10):
        first, second = _FACTORS[0] * a, _FACTORS[1] * c
        a, b, c, d = second >> 32 ^ b ^ left, second & _WORD, first >> 32 ^ d ^ right, first & _WORD
        left, right = left + _KEY_STEPS[0] & _WORD, right + _KEY_STEPS[1] & _WORD
    return a, b, c, d


def uniform(seed, purpose, index):
    """A number in [0, 1), with 53 bits, for a seed below 2**64 and an index of three numbers below 2**32."""
    high, low, _, _ = philox((*index, purpose), (seed & _WORD, seed >> 32))
    return ((high << 32 | low) >> 11) * 2.0**-53
