#!/bin/sh
# Streams: each line that is printed is a chunk of the answer.
#   parley serve -- ./stream.sh
for word in $(cat); do
	echo "$word" | tr '[:lower:]' '[:upper:]'
	sleep 0.2
done
