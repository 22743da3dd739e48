package media

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// isolation is what the kernel lets us put around a child: an empty network namespace, or nothing. The format and
// protocol lists hold in either case; the namespace is the second wall.
type isolation struct {
	flags uintptr
}

func (i isolation) apply(attributes *syscall.SysProcAttr) {
	attributes.Cloneflags = i.flags
	if i.flags&syscall.CLONE_NEWUSER == 0 {
		return
	}
	// Inside its user namespace the child is who we are, and nobody else exists.
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
}

// findIsolation tries the strongest isolation first. Containers often forbid both kinds; that is worth a line in the
// log and no more.
func (m *Media) findIsolation(ctx context.Context, logger *slog.Logger) isolation {
	candidates := []isolation{
		{flags: syscall.CLONE_NEWNET},
		{flags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET},
	}
	// Any program tells; to load ffprobe's libraries would be a third of the server's start.
	attempt := child{
		program: m.prlimit, args: []string{"--version"},
		maxOutput: 64 << 10, timeout: 10 * time.Second,
	}
	for _, candidate := range candidates {
		if m.runIn(ctx, attempt, candidate) == nil {
			return candidate
		}
	}
	logger.Info("media programs run without a network namespace of their own; format and protocol lists still keep them off the network")
	return isolation{}
}
