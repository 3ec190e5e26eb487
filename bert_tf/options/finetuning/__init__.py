"""Flags of fine-tuning by purpose."""
