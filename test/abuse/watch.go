package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Usage is what a process takes, as /proc has it.
type Usage struct {
	RSS     int64 // bytes
	Files   int   // descriptors
	Threads int
	CPU     time.Duration
	Waited  time.Duration // for a processor, all threads together
	Stolen  time.Duration // by the host from all processors, whoever would have used them
}

func (u Usage) String() string {
	return fmt.Sprintf("%d MiB, %d descriptors, %d threads", u.RSS>>20, u.Files, u.Threads)
}

// UsageOf reads what a process takes.
func UsageOf(pid int) (Usage, error) {
	var u Usage
	dir := fmt.Sprintf("/proc/%d", pid)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		value := strings.Fields(rest)
		if len(value) == 0 {
			continue
		}
		n, _ := strconv.ParseInt(value[0], 10, 64) // of other fields it is not read
		switch name {
		case "VmRSS":
			u.RSS = n << 10
		case "Threads":
			u.Threads = int(n)
		}
	}
	files, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return u, err
	}
	u.Files = len(files)
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	if f := strings.Fields(rest); len(f) > 12 {
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		u.CPU = time.Duration(user+system) * 10 * time.Millisecond // 100 a second, everywhere that matters
	}
	threads, _ := filepath.Glob(filepath.Join(dir, "task", "*", "schedstat")) // the pattern is none that is wrong
	for _, path := range threads {
		b, _ := os.ReadFile(path) // a thread may have ended
		if f := strings.Fields(string(b)); len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			u.Waited += time.Duration(n)
		}
	}
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return u, err
	}
	if f := strings.Fields(string(all)); len(f) > 8 && f[0] == "cpu" {
		ticks, _ := strconv.ParseInt(f[8], 10, 64)
		u.Stolen = time.Duration(ticks) * 10 * time.Millisecond
	}
	return u, nil
}

// Watch looks at a process four times a second until stop is called, which
// returns the most that it took of each.
func Watch(pid int) (stop func() Usage) {
	var most Usage
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			if u, err := UsageOf(pid); err == nil {
				most = Usage{max(most.RSS, u.RSS), max(most.Files, u.Files), max(most.Threads, u.Threads), max(most.CPU, u.CPU), max(most.Waited, u.Waited), max(most.Stolen, u.Stolen)}
			}
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
	})
	return func() Usage {
		close(quit)
		watching.Wait()
		return most
	}
}
