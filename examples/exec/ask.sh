#!/bin/sh
# Asks, with JSON lines:
#   parley serve --lines -- ./ask.sh
# text is what a line says, as it is in JSON: fit to be said again.
hear() {
	read -r line || exit 1
	case $line in '{"type":"cancel"'*) exit 1 ;; esac
	text=$(printf '%s\n' "$line" | sed -E 's/^\{"type":"[a-z]*","text":"(([^"\\]|\\.)*)".*/\1/')
}

hear
echo '{"type":"status","text":"thinking about it"}'
echo '{"type":"ask","text":"What is your name?"}'
hear
printf '%s\n' '{"type":"complete","text":"Hello '"$text"'!"}'
