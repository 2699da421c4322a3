"""Which bytes may be read: the walk, git's ignore rules, the deny-list, the path jail, decoding, redaction."""
