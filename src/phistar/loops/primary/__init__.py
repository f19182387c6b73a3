"""Closed loops by primary joints (WD89): everything as a function of as many joints as there are freedoms."""
