package console

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// The browser takes the files that the engine does: those of the card's modes, and of
// its skills'.
func TestAcceptedFiles(t *testing.T) {
	for _, one := range []struct {
		modes, skill []string
		want         string
	}{
		{nil, nil, ""},
		{[]string{"text/plain"}, nil, "text/plain"},
		{[]string{"text/plain; charset=utf-8", "image/PNG"}, nil, "text/plain,image/png"},
		{[]string{"text/plain"}, []string{"image/*", "text/plain"}, "text/plain,image/*"},
		{[]string{"text/plain", "*/*"}, nil, ""},
	} {
		card := &a2a.AgentCard{DefaultInputModes: one.modes, Skills: []*a2a.AgentSkill{{InputModes: one.skill}}}
		if got := accepts(card); got != one.want {
			t.Errorf("with %q and a skill with %q a chat accepts %q, want %q", one.modes, one.skill, got, one.want)
		}
	}
}
