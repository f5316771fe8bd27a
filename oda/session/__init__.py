"""One conversation: sessions, their state, their order, and the services they live in."""
