//go:build !unix

package agent

import "os"

const openWithoutWait = 0

func signalName(*os.ProcessState) string { return "killed" }
