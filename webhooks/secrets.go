package webhooks

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/stenometer/stenometer/models"
)

const (
	// secretPrefix is that of Standard Webhooks: the rest is base64 of the key.
	secretPrefix = "whsec_"
	secretBytes  = 32
	// sealing and sealingPrevious are the purposes for which secrets are sealed.
	sealing         = "webhook secret"
	sealingPrevious = "webhook secret, previous"
)

func newSecret() string {
	key := make([]byte, secretBytes)
	rand.Read(key)
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// secretsOf are those that sign now, the present one first.
func (s *Webhooks) secretsOf(hook models.Webhook, now time.Time) ([]string, error) {
	present, err := s.Keys.Open(sealing, hook.ID, hook.Secret)
	if err != nil {
		return nil, fmt.Errorf("read the secret of webhook %d: %w", hook.ID, err)
	}
	secrets := []string{present}
	if hook.PreviousSecret == nil || hook.PreviousSecretUntil == nil || !now.Before(*hook.PreviousSecretUntil) {
		return secrets, nil
	}
	previous, err := s.Keys.Open(sealingPrevious, hook.ID, *hook.PreviousSecret)
	if err != nil {
		return nil, fmt.Errorf("read the previous secret of webhook %d: %w", hook.ID, err)
	}
	return append(secrets, previous), nil
}

// rotate gives the row another secret; the old one signs too for the grace.
func (s *Webhooks) rotate(hook *models.Webhook, now time.Time) (secret string, err error) {
	secret = newSecret()
	old, err := s.Keys.Open(sealing, hook.ID, hook.Secret)
	hook.PreviousSecret, hook.PreviousSecretUntil = nil, nil
	if err == nil && s.Grace > 0 { // one that cannot be read signs nothing: rotating is the way out of that
		kept, err := s.Keys.Seal(sealingPrevious, hook.ID, old)
		if err != nil {
			return "", fmt.Errorf("seal the previous secret: %w", err)
		}
		until := now.Add(s.Grace)
		hook.PreviousSecret, hook.PreviousSecretUntil = &kept, &until
	}
	if hook.Secret, err = s.Keys.Seal(sealing, hook.ID, secret); err != nil {
		return "", fmt.Errorf("seal the secret: %w", err)
	}
	return secret, nil
}
