"""The commands, one file for each group; `discreet.cli` puts them together."""
