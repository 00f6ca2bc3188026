package terminal

import "golang.org/x/sys/windows"

// enableColors makes the terminal interpret control sequences, and reports whether it does.
func enableColors(fd int) bool {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(fd), &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(windows.Handle(fd), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
