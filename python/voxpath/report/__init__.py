"""Reports: what they hold as values (`document.py`), and how they are drawn."""
