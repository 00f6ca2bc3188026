package a2a

import "testing"

func TestUserText(t *testing.T) {
	m := UserText("hello")
	m.MessageID = "1"
	if err := m.Validate(); err != nil || m.Role != RoleUser || m.Text() != "hello" || len(m.Parts) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}
