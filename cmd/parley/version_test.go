package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionNamesTheCommit(t *testing.T) {
	settings := func(pairs ...string) (list []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	const rev, at = "4730764c0ffee4730764c0ffee4730764c0ffee0", "2026-11-25T22:20:00Z"
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want build
	}{
		"nothing is known": {nil, build{Version: "(devel)"}},
		"a checkout": {
			&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings("vcs.revision", rev, "vcs.time", at, "vcs.modified", "true")},
			build{Version: "(devel)", Commit: rev, Date: at, Modified: true},
		},
		"a checkout with a version": {
			&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261125222000-4730764c0ffe+dirty"}, Settings: settings("vcs.revision", rev, "vcs.time", at, "vcs.modified", "true")},
			build{Version: "v0.0.0-20261125222000-4730764c0ffe+dirty", Commit: rev, Date: at, Modified: true},
		},
		"go install before the first tag": {
			&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261125222000-4730764c0ffe"}},
			build{Version: "v0.0.0-20261125222000-4730764c0ffe", Commit: "4730764c0ffe", Date: at},
		},
		"go install of a tag": {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, build{Version: "v1.2.3"}},
	} {
		got := buildOf(test.info)
		got.Go, got.Platform = "", ""
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestAReleaseSaysWhatItsBuildWasTold(t *testing.T) {
	release, commit, date = "1.2.3", "4730764", "2026-11-25T22:20:00Z"
	defer func() { release, commit, date = "", "", "" }()
	b := thisBuild()
	want := "parley 1.2.3\ncommit 4730764, 2026-11-25T22:20:00Z\nbuilt with " + b.Go + " for " + b.Platform
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := version(); got != "1.2.3" {
		t.Errorf("got %q", got)
	}
}
