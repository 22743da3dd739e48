package audit

import (
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Object names a thing by what it is and its id: "user 7".
func Object(noun string, id int64) string { return noun + " " + strconv.FormatInt(id, 10) }

// objectID is the id of the first thing of this noun that an object names; 0 where there is none.
func objectID(object, noun string) int64 {
	rest, found := strings.CutPrefix(object, noun+" ")
	if !found {
		return 0
	}
	number, _, _ := strings.Cut(rest, " ")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// organizationOf is whose administrators are to see an entry: those of the object, or else of whoever did it. 0 where
// neither is known, which only the instance's administrators see.
func organizationOf(tx *gorm.DB, entry Entry) (int64, error) {
	if id := objectID(entry.Object, "organization"); id != 0 {
		return id, nil
	}
	for _, user := range []int64{objectID(entry.Object, "user"), entry.ActorID} {
		if user == 0 {
			continue
		}
		var found []int64
		if err := tx.Model(&models.User{}).Where("id = ?", user).Limit(1).Pluck("organization_id", &found).Error; err != nil {
			return 0, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return 0, nil
}
