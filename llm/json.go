package llm

import (
	"encoding/json"
	"strings"
)

// jsonIn is the JSON of an answer that may have words or a fence around it.
func jsonIn(answer string) (object string, found bool) {
	start, end := strings.IndexAny(answer, "{["), strings.LastIndexAny(answer, "}]")
	if start < 0 || end < start || !json.Valid([]byte(answer[start:end+1])) {
		return "", false
	}
	return answer[start : end+1], true
}

// eachText changes every text of valid JSON, keys included, and nothing else. Each is read first: an escape hides an
// address from whoever looks at the JSON as it is written.
func eachText(object string, change func(string) string) string {
	var out strings.Builder
	for {
		begin := strings.IndexByte(object, '"')
		if begin < 0 {
			out.WriteString(object)
			return out.String()
		}
		end := begin + 1
		for ; object[end] != '"'; end++ {
			if object[end] == '\\' {
				end++
			}
		}
		end++
		out.WriteString(object[:begin])
		out.WriteString(changed(object[begin:end], change))
		object = object[end:]
	}
}

// changed is a text of valid JSON, marks and all, as a change leaves it. Neither reading nor writing one can fail.
func changed(written string, change func(string) string) string {
	var text string
	_ = json.Unmarshal([]byte(written), &text)
	again, _ := json.Marshal(change(text))
	return string(again)
}
