"""The matchers that a `SubscriptionTrie` is compared with: published designs behind one protocol, `subtrie.matcher`.

They are here to be measured and read, and to answer as an oracle of tests does. Each is a module of its own: `naive`,
`inverted`, `optimised`, `locked`, `filtering`; and `bitmap` has the bitmaps of two of them, which need the extra
`bitmaps`.
"""
