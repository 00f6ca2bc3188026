package config

import (
	"slices"
	"testing"
)

func TestScriptsSayWhatTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\n# Says hello.\necho": "Says hello.", "\"\"\"Says hello.\n\nMore.\"\"\"": "Says hello.", "#!/usr/bin/env node\n\n// Says hello.": "Says hello.",
		"echo hello # not this": "", "# -*- coding: utf-8 -*-\n": "", "": "", "#!/bin/sh": "",
	} {
		if got := About(text); got != want {
			t.Errorf("%q is about %q, want %q", text, got, want)
		}
	}
}

func TestCommandsAreCalledAfterTheirScripts(t *testing.T) {
	for _, c := range []struct {
		argv []string
		want string
	}{{[]string{"/usr/bin/python3", "dir/answer.py"}, "answer"}, {[]string{"python3", "-c", "x"}, "python3"}, {[]string{"./answer.sh"}, "answer"}} {
		if got := CommandName(c.argv); got != c.want {
			t.Errorf("%q is called %q, want %q", c.argv, got, c.want)
		}
	}
	if run := Interpreter("A.PY"); !slices.Equal(run, []string{"python3"}) || Interpreter("a.out") != nil {
		t.Errorf("%q", run)
	}
}
