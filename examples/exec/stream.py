#!/usr/bin/env python3
# Streams: each line that is printed is a chunk of the answer.
#   parley serve -- ./stream.py
import sys, time

for word in sys.stdin.read().split():
    print(word.upper(), flush=True)
    time.sleep(0.2)
