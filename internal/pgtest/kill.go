package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kill ends each process of the server as kill -9 does, and waits until all have ended. It
// stops the first process before it lists the children. Otherwise a child started meanwhile
// would survive, wait for ever for a lock of a killed process, and keep the server from
// starting again.
func (c *Cluster) Kill() error {
	all, err := c.Pause()
	if err != nil {
		return err
	}
	for _, pid := range all {
		p, err := os.FindProcess(pid)
		if err == nil {
			err = p.Kill()
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
	}
	for limit := time.Now().Add(patience); slices.ContainsFunc(all[1:], Lives); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			return errors.New("processes of PostgreSQL survived kill -9")
		}
	}
	return c.Stop(Immediate) // the server has ended already
}

// Pause stops all processes of the server and returns them, the first process first. On
// systems that cannot stop processes, it only lists them.
func (c *Cluster) Pause() ([]int, error) {
	first, err := c.PID()
	if err != nil {
		return nil, err
	}
	if freeze(first) == nil {
		for limit := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if state, _ := statusOf(first); state == "T" || state == "" || state == "Z" || time.Now().After(limit) {
				break
			}
		}
	}
	all := append([]int{first}, Children(first)...)
	for _, pid := range all[1:] {
		_ = freeze(pid) // it may have ended
	}
	return all, nil
}

// Resume continues a paused server.
func (c *Cluster) Resume() error {
	first, err := c.PID()
	if err != nil {
		return err
	}
	for _, pid := range append(Children(first), first) {
		_ = thaw(pid) // it may have ended
	}
	return nil
}

// Lives reports whether a process exists and has not ended.
func Lives(pid int) bool {
	state, _ := statusOf(pid)
	return state != "" && state != "Z"
}

// Children returns the processes that a process has started.
func Children(parent int) (all []int) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range found {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if _, of := statusOf(pid); of == parent {
			all = append(all, pid)
		}
	}
	return all
}

// statusOf returns the state of a process, as its letter, and its parent; "" if there is no
// such process.
func statusOf(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	// Skip the name, which may contain anything.
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(words) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(words[1])
	return words[0], parent
}
