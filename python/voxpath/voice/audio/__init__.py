"""Recorded speech, and what a voice path does to it: codecs, lost packets, quality.

`opus.py` codes and decodes, `losses.py` says which packets arrive, `quality.py` judges by PESQ and STOI,
`speech.py` has recordings with their words and vowels. All of it needs the extra `vowels`.
"""
