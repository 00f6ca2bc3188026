//go:build unix

package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// toldOf returns what the process is told when it writes a line.
func toldOf(t *testing.T, h *fakeHost, line string) string {
	t.Helper()
	script := `read -r message; echo '` + line + `'; read -r line; printf '{"type":"artifact","name":"told","parts":[{"data":%s}]}\n' "$line"`
	if err := runExec(t, t.Context(), speaker(nil, script), h); err != nil {
		t.Fatal(err)
	}
	return string(h.events[len(h.events)-1].artifact.Parts[0].Data)
}

func TestExecTellsOfEarlierTasks(t *testing.T) {
	task := func(id, text string) *a2a.Task {
		return &a2a.Task{ID: id, ContextID: "c", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}, Artifacts: []*a2a.Artifact{
			{ArtifactID: "a", Name: "poem", Parts: []*a2a.Part{a2a.TextPart(text)}},
		}}
	}
	show := func(id, text string) string {
		return fmt.Sprintf(`{"id":%q,"contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","name":"poem","parts":[{"text":%q}]}]}`, id, text)
	}
	h := newHost("")
	h.refs, h.siblings = []*a2a.Task{task("1", "x")}, []*a2a.Task{task("2", "y"), task("3", "z")}
	if got, want := toldOf(t, h, `{"type":"references"}`), `{"type":"tasks","tasks":[`+show("1", "x")+`]}`; got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	h.events = nil
	if got, want := toldOf(t, h, `{"type":"siblings"}`), `{"type":"tasks","tasks":[`+show("2", "y")+","+show("3", "z")+`]}`; got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	if got, want := toldOf(t, newHost(""), `{"type":"siblings"}`), `{"type":"tasks","tasks":[]}`; got != want {
		t.Errorf("told %s, want %s", got, want)
	}

	h = newHost("")
	for i := range maxEarlier + 1 {
		h.siblings = append(h.siblings, task(fmt.Sprint(i), "x"))
	}
	if got := toldOf(t, h, `{"type":"siblings"}`); strings.Count(got, `"id"`) != maxEarlier || !strings.HasSuffix(got, `],"more":true}`) {
		t.Errorf("told of %d tasks: …%s", strings.Count(got, `"id"`), got[len(got)-50:])
	}
	h = newHost("")
	big := strings.Repeat("x", maxEarlierBytes+1)
	h.siblings = []*a2a.Task{task("1", big), task("2", "x")}
	script := `read -r message; echo '{"type":"siblings"}'; echo '{"type":"complete","text":"'$(($(head -n 1 | wc -c)))'"}'`
	if err := runExec(t, t.Context(), speaker(nil, script), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, fmt.Sprintf(`completed "%d"`, len(big)+len(show("1", ""))+len(`{"type":"tasks","tasks":[],"more":true}`+"\n")))
}

// A program goes on behind what a lost run wrote, or begins it anew.
func TestExecResumesAnArtifact(t *testing.T) {
	h := newHost("")
	h.attempt = 2
	h.left = []*a2a.Artifact{{ArtifactID: "artifact-0", Parts: []*a2a.Part{a2a.TextPart("one "), a2a.TextPart("two ")}}}
	h.open = map[string]bool{"artifact-0": true}
	script := `read -r message; echo '{"type":"resume","name":"report"}'; read -r line
		printf '{"type":"artifact","name":"report","parts":[{"data":%s}]}\n' "$line"
		echo '{"type":"artifact","name":"report","text":"three","last":true}'`
	if err := runExec(t, t.Context(), speaker(nil, script), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `+ data({"type":"resume","name":"report","parts":[{"text":"one "},{"text":"two "}]})`, `+. "three"`)

	h = newHost("")
	if got, want := toldOf(t, h, `{"type":"resume","name":"report"}`), `{"type":"resume","name":"report","parts":[]}`; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}
