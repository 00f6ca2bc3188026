package main

import (
	"flag"
	"regexp"
)

var update = flag.Bool("update", false, "rewrite the transcripts of the documentation with what the commands print")

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	taskID = regexp.MustCompile(`Task ID: (\S+)`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
)
