"""One point: it is read, the entry is evaluated there, and the answer has its error, its explanation and its source."""
