"""Where code runs that nobody has read: one interface, several sandboxes."""
