package proxy

import "time"

var OriginOf = originOf

// Tests need not be as patient.
func init() { grace, cancelWait = 400*time.Millisecond, 400*time.Millisecond }
