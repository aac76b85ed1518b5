"""From a question to a bounded query, and from a bounded query to an exact value that nobody sees."""
