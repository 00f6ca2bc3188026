package terminal

import "golang.org/x/sys/windows"

// enableColors reports whether the terminal knows control sequences, and has it
// heed them.
func enableColors(fd int) bool {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(fd), &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(windows.Handle(fd), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
