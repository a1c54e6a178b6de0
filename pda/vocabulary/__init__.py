"""The bytes of the tokens, their trie, and what is known of its subtrees. Knows no grammar."""
