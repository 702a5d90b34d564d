"""Receipts of a small shop."""
