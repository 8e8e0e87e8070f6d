"""What is about voice: echo cancellation, parts of a voice path, vowels, and recognising speech."""
