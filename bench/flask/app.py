"""What people run today: Flask with Flask-Limiter, and the look-up that Speakr makes for the token of each request.

Settings: DB (path of the SQLite file), TOKENS (one line each: account, token), ANSWER (file with the JSON to send),
STORAGE (Flask-Limiter's storage_uri), COMMIT_LAST_USED (1: as Speakr does, last_used_at is committed per request).

`python3 app.py` makes the database; gunicorn serves `app:app`.
"""
import hashlib
import json
import os
from datetime import datetime

from flask import Flask, abort, g, jsonify, request
from flask_limiter import Limiter
from flask_sqlalchemy import SQLAlchemy

COMMIT_LAST_USED = os.environ.get("COMMIT_LAST_USED") == "1"
# Too high to bind: every request goes the whole way.
FIGURE = "1000000000 per minute"

app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite:///" + os.path.abspath(os.environ["DB"])
db = SQLAlchemy(app)

with open(os.environ["ANSWER"], encoding="utf-8") as file:
    ANSWER = json.load(file)


class Account(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80))


class Token(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    account_id = db.Column(db.Integer, db.ForeignKey("account.id"), nullable=False)
    token_hash = db.Column(db.String(64), unique=True, nullable=False, index=True)
    last_used_at = db.Column(db.DateTime)
    expires_at = db.Column(db.DateTime)
    revoked = db.Column(db.Boolean, default=False, nullable=False)
    account = db.relationship("Account")


def hashed(token):
    return hashlib.sha256(token.encode()).hexdigest()


def make_database():
    with app.app_context():
        db.create_all()
        with open(os.environ["TOKENS"], encoding="utf-8") as file:
            for line in file:
                account, token = line.split()
                if db.session.get(Account, int(account)) is None:
                    db.session.add(Account(id=int(account), name="account " + account))
                db.session.add(Token(account_id=int(account), token_hash=hashed(token), revoked=False))
        db.session.commit()


# Registered before the limiter's own hook, so that the limits know whose request it is.
@app.before_request
def authenticate():
    header = request.headers.get("Authorization", "")
    if not header.startswith("Bearer "):
        abort(401)
    token = Token.query.filter_by(token_hash=hashed(header[len("Bearer "):])).first()
    if token is None or token.revoked or (token.expires_at and token.expires_at < datetime.utcnow()):
        abort(401)
    if COMMIT_LAST_USED:
        token.last_used_at = datetime.utcnow()
        db.session.commit()
    g.account = token.account
    g.token_id = token.id


limiter = Limiter(
    key_func=lambda: f"token:{g.token_id}",
    storage_uri=os.environ.get("STORAGE", "memory://"),
    headers_enabled=True,
)
limiter.init_app(app)


@app.route("/api/v1/capabilities")
@limiter.limit(FIGURE, key_func=lambda: f"account:{g.account.id}")
@limiter.limit(FIGURE, key_func=lambda: f"token:{g.token_id}")
def capabilities():
    return jsonify(ANSWER)


if __name__ == "__main__":
    make_database()
