package main

import "testing"

func TestShownKey(t *testing.T) {
	for arg, want := range map[string]string{
		"parley_abcdefghij_secret": "parley_abcdefghij", "parley_abc": "parley_abc", "abcdefghij": "abcdefghij", "abcdefghij_sec": "abcdefghij", "": "",
	} {
		if got := shownKey(arg); got != want {
			t.Errorf("%q is shown as %q, want %q", arg, got, want)
		}
	}
}
