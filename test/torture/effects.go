package torture

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

// effect is a run of a step, as the agent's own file has it.
type effect struct{ step, result string }

func (w *world) readEffects() (map[string][]effect, error) {
	all := map[string][]effect{}
	if w.o.Effects == "" {
		return all, nil
	}
	f, err := os.Open(w.o.Effects)
	if os.IsNotExist(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: line %q", w.o.Effects, lines.Text())
		}
		all[words[0]] = append(all[words[0]], effect{words[1], words[2]})
	}
	return all, lines.Err()
}

// recorded are the results of a task's steps as its log shows them, by step.
func recorded(h *history) map[string][]string {
	shown := map[string][]string{}
	for _, el := range h.events {
		if u := el.ArtifactUpdate; u != nil {
			for _, p := range u.Artifact.Parts {
				if step, result, ok := strings.Cut(strings.TrimSpace(p.Text), "="); ok {
					shown[step] = append(shown[step], result)
				}
			}
		}
	}
	return shown
}

// auditEffects judges that a step whose result was recorded did not run again:
// all runs of the agent show the same result, and it is that of the last run
// of the step. (A step that has two records shows as a position too many.)
//
// Where there are several servers one of them may have been paused in a step that
// another has run and recorded since: its effect comes late, and its result is
// nobody's.
func auditEffects(h *history, effects []effect, several bool) (found []fault) {
	for step, results := range recorded(h) {
		for _, r := range results[1:] {
			if r != results[0] {
				found = append(found, faultf(Steps, "step %s had the result %s and then %s", step, results[0], r))
			}
		}
		last := ""
		for _, e := range effects {
			if e.step == step {
				last = e.result
			}
		}
		if several {
			if !slices.Contains(effects, effect{step, results[0]}) {
				found = append(found, faultf(Steps, "step %s has the result %s, which no run of it had", step, results[0]))
			}
			continue
		}
		if last != results[0] {
			found = append(found, faultf(Steps, "step %s ran again after its result %s was recorded", step, results[0]))
		}
	}
	return found
}
