package terminal

import "testing"

func TestAFailureIsWordedForPeople(t *testing.T) {
	s, _ := screen(80, false)
	got := s.Failure("A2ACLI_ERR_UNREACHABLE", "cannot reach\x1b[2J it", []string{"a\nb"}, "start it")
	if want := "Error: cannot reach it [A2ACLI_ERR_UNREACHABLE]\n  a b\nHint: start it\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s, _ = screen(80, true)
	got = s.Failure("", "wrong", nil, "")
	if want := red + "Error:" + reset + " wrong\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
