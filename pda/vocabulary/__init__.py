"""The bytes of the tokens, their trie, and facts about its subtrees, all independent of grammars."""
