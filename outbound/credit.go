package outbound

import "encoding/json"

// OutOfCredit recognizes, by what a service said with its 429, the one that no waiting cures.
func OutOfCredit(said []byte) bool {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	return json.Unmarshal(said, &body) == nil && body.Error.Code == "insufficient_quota"
}
