package servertest

import "os"

// Soak reports whether `make soak` runs the tests: those that hold real minutes take them only then.
func Soak() bool { return os.Getenv("STENOMETER_SOAK") == "1" }
