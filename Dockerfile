# The server with all that it starts: ffmpeg, and PocketSphinx with its English model (demo grade; one variable swaps
# in a Whisper server). Build it with:
#
#   docker build --build-arg VERSION=$(git describe --tags --always) -t stenometer .

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN make build VERSION="$VERSION"

FROM debian:bookworm-slim
# ca-certificates: speech and text services elsewhere are called over HTTPS. util-linux has prlimit, which bounds child processes.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates ffmpeg pocketsphinx pocketsphinx-en-us util-linux \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin stenometer \
    && install -d -o stenometer -g stenometer -m 0700 /data
COPY --from=build /src/bin/server /usr/local/bin/server

# How many reverse proxies of yours stand in front of this container. 0: none, callers reach it directly, and
# X-Forwarded-For is not believed. Behind one proxy say 1; else every caller has the proxy's address and its limits.
ENV TRUSTED_PROXY_COUNT=0
ENV LISTEN_ADDR=:8899 DATA_DIR=/data

USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8899

# bash is its own HTTP client here: nothing is installed for the probe.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["bash", "-c", "exec 3<>\"/dev/tcp/127.0.0.1/${LISTEN_ADDR##*:}\" && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]

ENTRYPOINT ["server"]
CMD ["serve"]
