package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// usageOf reads what a process has used, from the scheduler's own account of
// its threads, in nanoseconds; where the kernel keeps none, in ticks of 10 ms.
func usageOf(pid int) usage {
	dir := "/proc/" + strconv.Itoa(pid)
	var u usage
	threads, _ := filepath.Glob(dir + "/task/*/schedstat")
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that has just ended
		}
		first, _, _ := bytes.Cut(b, []byte(" "))
		ns, _ := strconv.ParseInt(string(first), 10, 64)
		u.cpu += time.Duration(ns)
	}
	if u.cpu == 0 {
		if b, err := os.ReadFile(dir + "/stat"); err == nil {
			// The name may have spaces; what follows its bracket has none.
			fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
			for _, f := range fields[11:13] {
				ticks, _ := strconv.ParseInt(string(f), 10, 64)
				u.cpu += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	status, _ := os.ReadFile(dir + "/status")
	u.memory, u.peak = kilobytes(status, "VmRSS:"), kilobytes(status, "VmHWM:")
	u.known = u.cpu > 0 && u.memory > 0
	return u
}

// ownUsage is the processor time of this process.
func ownUsage() usage {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return usage{}
	}
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), known: true}
}

func kilobytes(status []byte, name string) int64 {
	_, rest, _ := bytes.Cut(status, []byte(name))
	var kb int64
	_, _ = fmt.Sscan(string(rest[:min(len(rest), 40)]), &kb)
	return kb << 10
}

// forServers is the processor that apart left free.
var forServers unix.CPUSet

// apart keeps this process off its first processor, which is for the servers.
// It says whether there is more than one.
func apart() (bool, error) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return false, err
	}
	if own.Count() < 2 {
		return false, nil
	}
	first := 0
	for !own.IsSet(first) {
		first++
	}
	own.Clear(first)
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		tid, _ := strconv.Atoi(filepath.Base(t))
		if err := unix.SchedSetaffinity(tid, &own); err != nil && !errors.Is(err, unix.ESRCH) {
			return false, err
		}
	}
	runtime.GOMAXPROCS(own.Count())
	forServers.Set(first)
	return true, nil
}

// onServers calls start, which begins a process, so that the process is on the
// processor for servers and nowhere else, if there is one.
func onServers(start func() error) error {
	if forServers.Count() == 0 {
		return start()
	}
	runtime.LockOSThread() // a child inherits from the thread that starts it
	defer runtime.UnlockOSThread()
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, &forServers); err != nil {
		return err
	}
	defer func() { _ = unix.SchedSetaffinity(0, &own) }()
	return start()
}

// everywhere lets a process and those that it began run on all processors, as if
// this one had not kept off the first.
func everywhere(pid int) error {
	all := forServers
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return err
	}
	for cpu := range 1024 {
		if own.IsSet(cpu) {
			all.Set(cpu)
		}
	}
	for _, p := range append(children(pid), pid) {
		if err := unix.SchedSetaffinity(p, &all); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// children are the processes that a process has begun.
func children(pid int) (all []int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, path := range lists {
		text, _ := os.ReadFile(path) // a thread that has just ended
		for _, f := range bytes.Fields(text) {
			child, _ := strconv.Atoi(string(f))
			all = append(all, child)
		}
	}
	return all
}

// familyUsage is the processor time of a process, of those that it began, and of
// those of them that have ended; the latter in ticks of 10 ms.
func familyUsage(pid int) usage {
	u := usageOf(pid)
	for _, child := range children(pid) {
		if c := usageOf(child); c.known {
			u = u.and(c)
		}
	}
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		for _, f := range fields[13:15] {
			ticks, _ := strconv.ParseInt(string(f), 10, 64)
			u.cpu += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return u
}

// machineMemory returns the bytes of memory of the whole machine.
func machineMemory() int64 {
	b, _ := os.ReadFile("/proc/meminfo")
	return kilobytes(b, "MemTotal:")
}

func machineModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, ok := bytes.Cut(b, []byte("model name"))
	if !ok {
		return ""
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(bytes.TrimLeft(line, "\t :")))
}

// forget makes the system drop from its memory what it has of the files in dir.
func forget(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil { // what is not written yet cannot be dropped
			return err
		}
		return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	})
}

// onDisk says whether a directory is on something that keeps what is synced:
// fsync costs nothing in memory, and figures from there would be wrong.
func onDisk(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return err
	}
	if s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC {
		return errors.New("temporary files are in memory here, where fsync costs nothing: name a directory on a disk with -dir")
	}
	return nil
}
