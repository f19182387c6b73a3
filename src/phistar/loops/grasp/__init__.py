"""Objects that several arms hold (RJK91 §6): their motion, their contacts, and who carries how much."""
