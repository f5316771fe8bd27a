"""The program that looks at a video; made to run in a sandbox."""
