package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/mail"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// mailAttempts is how often a mail is tried: within the life of most links, and no longer.
const mailAttempts = 6

// SendResetArgs asks for the link of a forgotten password, if there is such an account. No token is kept in the queue: it
// is made when the mail is.
type SendResetArgs struct {
	Email   string    `json:"email"`
	AskedAt time.Time `json:"asked_at"`
}

// Kind names the job.
func (SendResetArgs) Kind() string { return "send_password_reset" }

// InsertOpts puts the job among the short ones.
func (SendResetArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.Chores, MaxAttempts: mailAttempts}
}

// SendInviteArgs asks for the open invite of an address to be mailed. Its token is made anew from its row.
type SendInviteArgs struct {
	OrganizationID int64  `json:"organization_id"`
	Email          string `json:"email"`
}

// Kind names the job.
func (SendInviteArgs) Kind() string { return "send_invite" }

// InsertOpts puts the job among the short ones.
func (SendInviteArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.Chores, MaxAttempts: mailAttempts}
}

// RegisterWorkers tells the queue who works the jobs of accounts.
func RegisterWorkers(queue *jobs.Jobs, a *Accounts) {
	jobs.Register(queue, &resetSender{accounts: a})
	jobs.Register(queue, &inviteSender{accounts: a})
}

// sendsMail reports whether there is a server to send by and an address for links to lead to.
func (a *Accounts) sendsMail() bool {
	return a.options.Mail != nil && a.options.Queue != nil && a.options.PublicURL != ""
}

// link is where a token is used; the token alone where the server does not know its own address.
func (a *Accounts) link(path, token string) string {
	if a.options.PublicURL == "" {
		return token
	}
	return a.options.PublicURL + path + "#" + token
}

// send tells the queue of a mail that no attempt can send.
func (a *Accounts) send(ctx context.Context, letter mail.Letter) error {
	err := a.options.Mail.Send(ctx, letter)
	if errors.Is(err, mail.ErrLetter) {
		return river.JobCancel(err)
	}
	return err
}

type resetSender struct {
	river.WorkerDefaults[SendResetArgs]
	accounts *Accounts
}

// Work sends the link, to an account that has a password and was not sent too many lately. One that a mail could not be
// sent with is taken back: it was not sent.
func (w *resetSender) Work(ctx context.Context, job *river.Job[SendResetArgs]) error {
	a := w.accounts
	if !a.sendsMail() || a.now().Sub(job.Args.AskedAt) > a.options.ResetLife {
		return nil
	}
	var rows []models.User
	err := a.db.Read.WithContext(ctx).Where("email = ? AND disabled_at IS NULL", job.Args.Email).Limit(1).Find(&rows).Error
	if err != nil {
		return fmt.Errorf("look up who forgot a password: %w", err)
	}
	// Who signs in elsewhere only has none to forget, and a mail must not give one: whoever closed the account there
	// would have left it open here.
	if len(rows) == 0 || rows[0].PasswordHash == nobodysHash {
		return nil
	}
	user := rows[0]
	token, id, err := a.makeReset(ctx, user.ID, func(tx *gorm.DB) (bool, error) { return a.roomForReset(tx, user.ID) })
	if err != nil || token == "" {
		return err
	}
	err = a.send(ctx, mail.Letter{To: user.Email, Subject: "Reset your password", Text: resetText(a.ResetLink(token), a.options.ResetLife)})
	if err == nil {
		return nil
	}
	undone := a.db.Transaction(ctx, func(tx *gorm.DB) error { return tx.Delete(&models.PasswordReset{ID: id}).Error })
	return errors.Join(err, undone)
}

// Timeout bounds one attempt.
func (w *resetSender) Timeout(*river.Job[SendResetArgs]) time.Duration { return mailTime }

// mailTime is more than sending a mail may take; package mail ends it sooner.
const mailTime = 6 * time.Minute

func resetText(link string, life time.Duration) string {
	return "Somebody, you we hope, forgot the password of your account.\n\n" +
		"Set a new one here, once, within " + spoken(life) + ":\n\n" + link + "\n\n" +
		"If it was not you, do nothing: your password stays as it is.\n"
}

type inviteSender struct {
	river.WorkerDefaults[SendInviteArgs]
	accounts *Accounts
}

// Work sends an invite that is still open.
func (w *inviteSender) Work(ctx context.Context, job *river.Job[SendInviteArgs]) error {
	a := w.accounts
	var rows []models.TeamInvite
	err := a.db.Read.WithContext(ctx).
		Where("organization_id = ? AND email = ? AND accepted_at IS NULL AND expires_at > ?", job.Args.OrganizationID, job.Args.Email, a.now()).
		Limit(1).Find(&rows).Error
	if err != nil {
		return fmt.Errorf("look up an invite: %w", err)
	}
	if len(rows) == 0 || !a.sendsMail() {
		return nil
	}
	token, err := a.inviteToken(rows[0])
	if err != nil {
		return err
	}
	return a.send(ctx, mail.Letter{To: rows[0].Email, Subject: "You are invited", Text: inviteText(a.link(InvitePath, token), rows[0].ExpiresAt)})
}

// Timeout bounds one attempt.
func (w *inviteSender) Timeout(*river.Job[SendInviteArgs]) time.Duration { return mailTime }

func inviteText(link string, until time.Time) string {
	return "You are invited to make an account. Do so here, until " + until.UTC().Format("2 January 2006, 15:04") + " UTC:\n\n" +
		link + "\n\nIf you do not know why, do nothing.\n"
}

// spoken is a time as people say it, in hours or minutes.
func spoken(life time.Duration) string {
	count, unit := int(life.Hours()), "hour"
	if life < 2*time.Hour && life != time.Hour {
		count, unit = max(1, int(life.Minutes())), "minute"
	}
	if count != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", count, unit)
}

// mailInvite has an invite sent, in the transaction that makes it, and reports whether it is: an address gets one mail of an
// organization in each InviteMailEvery, so that nobody fills an inbox by inviting again.
func (a *Accounts) mailInvite(ctx context.Context, tx *gorm.DB, row models.TeamInvite) (mailed bool, err error) {
	if !a.sendsMail() {
		return false, nil
	}
	args := SendInviteArgs{OrganizationID: row.OrganizationID, Email: row.Email}
	options := args.InsertOpts()
	options.UniqueOpts = river.UniqueOpts{ByArgs: true, ByPeriod: a.options.InviteMailEvery}
	if mailed, err = a.options.Queue.EnqueueOnce(ctx, tx, args, &options); err != nil {
		return false, problems.New(problems.Internal, "The invite could not be queued.").Because(err)
	}
	return mailed, nil
}
