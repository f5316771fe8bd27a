"""What an agent may do: tools and what is applied around every call of one."""
