package v1

func exampleNewInternalShare() newInternalShare {
	id := int64(8)
	return newInternalShare{UserID: &id, CanEdit: true}
}

func exampleInternalShare() internalShareForm {
	username, email, source := "grace", "grace@example.com", "manual"
	return internalShareForm{
		ID: 5, UserID: 8, Username: &username, Email: &email, CanEdit: true, Source: &source, GrantedBy: 7,
		SharedAt: "2026-03-05T06:13:46.123456Z",
	}
}

func exampleInternalShareWith() internalShareWith {
	id := int64(8)
	return internalShareWith{UserID: &id}
}

func examplePerson() personForm {
	email := "grace@example.com"
	return personForm{ID: 8, Username: "grace", Email: &email}
}
