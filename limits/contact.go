package limits

import (
	"context"
	"time"
)

// contactPatience is how long opening a storage goes on asking a server that does not answer.
const contactPatience = 3 * time.Second

// firstContact asks until the server answers. One that does not is no error, because a store finds it when it comes: the
// only error is one of which hopeless says that no waiting will mend it, at once.
func firstContact(ctx context.Context, ask func(ctx context.Context) error, hopeless func(err error) bool) error {
	ctx, cancel := context.WithTimeout(ctx, contactPatience)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if hopeless(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(contactPatience / 30):
		}
	}
}
