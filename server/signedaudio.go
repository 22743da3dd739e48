package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"github.com/stenometer/stenometer/config"
)

// signedLife is how long an address of the storage gives its file. Whoever has it needs no account.
const signedLife = time.Minute

// signedAudio makes addresses at which S3 itself gives a file; nil where this server sends files.
func signedAudio(cfg *config.Config, files *blob.Bucket) func(ctx context.Context, key, disposition, mimeType string) (string, error) {
	if !cfg.AudioRedirect || cfg.FileStorageURL.Scheme() != "s3" {
		return nil
	}
	return func(ctx context.Context, key, disposition, mimeType string) (string, error) {
		address, err := files.SignedURL(ctx, key, &blob.SignedURLOptions{
			Method: http.MethodGet, Expiry: signedLife,
			BeforeSign: func(as func(any) bool) error {
				var request *s3.GetObjectInput
				if !as(&request) {
					return errors.New("the storage is not S3")
				}
				request.ResponseContentDisposition, request.ResponseContentType = &disposition, &mimeType
				return nil
			},
		})
		if err != nil {
			return "", fmt.Errorf("sign an address of the storage: %w", err)
		}
		return address, nil
	}
}
