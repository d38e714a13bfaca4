"""Recurrent cells: one step of an equation."""
