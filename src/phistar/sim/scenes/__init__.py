"""Scenes: parts, contact, controllers and chance in one file; run, kept and summed up."""
