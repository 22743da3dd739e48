package v1

import (
	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
)

// withFolders refuses what makes or changes a folder while there are none, before anything else of it is looked at.
func (a *API) withFolders(handler func(echo.Context, auth.Principal) error) func(echo.Context, auth.Principal) error {
	return func(c echo.Context, p auth.Principal) error {
		if err := a.recordings.FoldersOn(); err != nil {
			return err
		}
		return handler(c, p)
	}
}
