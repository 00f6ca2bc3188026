package config_test

import (
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/config"
)

func Example() {
	const text = `version: 1
listen: 127.0.0.1:7275
agents:
  answers:
    exec: {command: [./answers.py], timeout: 5 minutes}
  web:
    htpp: {url: http://127.0.0.1:9000/}
`
	_, err := config.Parse("parley.yaml", []byte(text), nil)
	var wrong *config.Error
	if errors.As(err, &wrong) {
		for _, line := range wrong.Lines() {
			fmt.Println(line)
		}
	}
	// Output:
	// parley.yaml:5:46: agents.answers.exec.timeout: must be a duration with a unit, such as 500ms, 30s, 5m, 24h or 30d, not "5 minutes"
	// parley.yaml:7:5: agents.web.htpp: there is no such setting: did you mean http?
}
